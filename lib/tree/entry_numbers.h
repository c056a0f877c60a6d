/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what a tree_builder has gathered, in the order in which it came, to the nodes that tree/tree.h promises. */
#pragma once

#include "support/run/pool.h"
#include "tree/tree.h"

/*
 * An entry is a node that has not been numbered yet; some of its fields hold something else meanwhile:
 *   parent, link_to: numbers of entries (link_to of a further name: the entry that has the attributes);
 *   first_child: of a directory, which table has its names; child_count: flags; links: 1 if it is the link_to of
 * another.
 */

/* Flags of an entry that is no longer in the tree. */
#define ENTRY_REPLACED 1u /* it has lost its name; other names of the file may still need it */
#define ENTRY_EXCLUDED 2u /* found when all is there: links come after what they lead to */

static inline bool entry_is_child(const struct tree_node *entries, uint32_t entry)
{
	return entry != TREE_ROOT && !entries[entry].child_count;
}

/*
 * Gives the tree its nodes. *entries, of which [0] is the root and a directory comes before what is in it, are taken:
 * NULL afterwards, unless this fails. order may be NULL: gets by node its entry; the caller frees it. ENOMEM.
 */
MUST_CHECK errcode_t entries_number(struct tree *tree, struct tree_node **entries, uint32_t count, struct pool *pool,
                                    uint32_t **order, struct problem *problem);
