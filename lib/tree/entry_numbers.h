/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the entries of a tree_builder, which are in order of arrival, into nodes in the order that tree/tree.h
 * promises.
 */
#pragma once

#include "support/run/pool.h"
#include "tree/tree.h"

/*
 * An entry is a node that has no node number yet; some of its fields have another meaning until then: parent, link_to:
 * numbers of entries (link_to of a further name: the entry that has the attributes); first_child: of a directory, which
 * table has its names; child_count: flags; links: 1 if it is the link_to of another.
 */

/* Flags of an entry that is no longer in the tree. */
#define ENTRY_REPLACED 1u /* another file has its name now; other names of its file may still need it */
#define ENTRY_EXCLUDED 2u /* set after all entries have arrived: links come after their targets */

static inline bool entry_is_child(const struct tree_node *entries, uint32_t entry)
{
	return entry != TREE_ROOT && !entries[entry].child_count;
}

/*
 * Gives the tree its nodes. In *entries, [0] is the root and each directory precedes its children. Takes *entries over
 * and sets it to NULL, unless this fails. *order (order may be NULL) gets each node's entry; the caller frees it.
 * ENOMEM.
 */
MUST_CHECK errcode_t entries_number(struct tree *tree, struct tree_node **entries, uint32_t count, struct pool *pool,
                                    uint32_t **order, struct problem *problem);
