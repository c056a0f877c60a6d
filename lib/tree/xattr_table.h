/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores equal sets of xattrs once. While many workers scan, a table does so. In a finished tree, sets are first added
 * and changed freely, and then equal ones are merged.
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
/* Counts sets that are added from now on: xattr_table_intern() can return EDQUOT, too. counts may be NULL. */
void xattr_table_count(struct xattr_table *table, struct source_counts *counts);

void xattr_table_destroy(struct xattr_table *table);

/*
 * Returns the set's provisional number, which xattr_table_finish() replaces; TREE_NO_XATTRS for an empty set. The list
 * must be sorted by name; a new one is copied. Any thread; last belongs to the caller. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t xattr_table_intern(struct xattr_table *table, const struct tree_xattr *list, uint32_t count,
                                        struct xattr_table_memory *last, uint32_t *number);

/*
 * Gives the tree its sets, numbered in the order in which its nodes use them, and its nodes the new numbers. The
 * sets' memory moves into the tree's. Called once, at the end.
 */
MUST_CHECK errcode_t xattr_table_finish(struct xattr_table *table, struct tree *tree);

/* tree_xattr_set.hash of such a list. */
uint32_t xattr_list_hash(const struct tree_xattr *list, uint32_t count);

/* A copy of a list with all that it points to; NULL: no memory. */
struct tree_xattr *xattr_list_copy(struct arena *memory, const struct tree_xattr *list, size_t count);

/*
 * Adds a set, which may equal another until xattr_sets_unify(): the set `like` with one xattr changed or, if it has
 * none of that name, added. name and value must be in the tree's memory. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t xattr_sets_add(struct tree *tree, uint32_t like, const struct tree_xattr *xattr, uint32_t *number);

/*
 * Merges equal sets, drops sets that no node uses, and numbers the rest in the order in which nodes use them, as
 * tree/tree.h promises. ENOMEM; the tree can then only be destroyed.
 */
MUST_CHECK errcode_t xattr_sets_unify(struct tree *tree);
