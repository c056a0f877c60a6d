/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of source/tree/tree_builder.h: what is collected, and then numbered. */
#pragma once

#include "source/tree/tree_builder.h"

/* In an entry's child_count: it is no longer in the tree. */
#define ENTRY_REPLACED 1u /* it has lost its name; other names of the file may still need it */
#define ENTRY_EXCLUDED 2u /* found when all is there: links come after what they lead to */

/*
 * An entry is a node that has not been numbered yet; some of its fields hold something else meanwhile:
 *   parent, link_to: numbers of entries (link_to of a further name: the entry that has the attributes);
 *   first_child: the hash of the name; child_count: flags; links: 1 if it is the link_to of another.
 */
struct tree_builder {
	struct tree *tree;
	const struct exclude *exclude; /* NULL: none */
	struct tree_node *entries;     /* [0] is the root */
	size_t count, capacity;
	uint32_t *slots;   /* entries by parent and name; 0: free. Open addressing, at most half full */
	size_t slot_count; /* a power of two */
	uint64_t hash_key;
	char *last_directory; /* as it was given, with its slash; not terminated */
	size_t last_directory_bytes, last_directory_capacity;
	uint32_t last_directory_number;
	bool root_has_time;
	const char *reason;
};
