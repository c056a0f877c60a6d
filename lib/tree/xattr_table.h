/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores equal sets of xattrs once: while many workers find them, in a table; or in a tree that is there, where sets
 * are first added or changed at will, and then equal ones made one.
 */
#pragma once

#include "tree/source_limits.h"
#include "tree/tree.h"

struct xattr_table;

/* The set that a worker met last: neighbours often have equal ones, and finding it here takes no lock. */
struct xattr_table_memory {
	const struct tree_xattr *list;
	uint32_t count;
	uint32_t number;
};

MUST_CHECK errcode_t xattr_table_create(struct xattr_table **ret);
/* What comes into it is counted from now on: xattr_table_intern() gives EDQUOT, too. NULL is allowed. */
void xattr_table_count(struct xattr_table *table, struct source_counts *counts);

void xattr_table_destroy(struct xattr_table *table);

/*
 * The number of the set, for xattr_table_finish(); TREE_NO_XATTRS for an empty one. The list is sorted by
 * name and copied if it is new. Any thread; last belongs to the caller. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t xattr_table_intern(struct xattr_table *table, const struct tree_xattr *list, uint32_t count,
                                        struct xattr_table_memory *last, uint32_t *number);

/*
 * Gives the tree its sets, numbered in the order in which its nodes use them, and its nodes the new numbers. The
 * sets' memory moves into the tree's. Called once, at the end.
 */
MUST_CHECK errcode_t xattr_table_finish(struct xattr_table *table, struct tree *tree);

/* A copy of a list with all that it points to; NULL: no memory. */
struct tree_xattr *xattr_list_copy(struct arena *memory, const struct tree_xattr *list, size_t count);

/*
 * A further set, which may equal another for the time being: that of `like` with one xattr changed or, if it had none
 * of that name, added. name and value must be in the tree's memory. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t xattr_sets_add(struct tree *tree, uint32_t like, const struct tree_xattr *xattr, uint32_t *number);

/*
 * Makes equal sets one, drops those that no node has, and numbers them in the order in which nodes use them, as
 * tree/tree.h promises. ENOMEM; the tree can then only be destroyed.
 */
MUST_CHECK errcode_t xattr_sets_unify(struct tree *tree);
