/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores equal sets of xattrs once, while many workers find them. */
#pragma once

#include "source/tree/tree.h"

struct xattr_table;

/* The set that a worker met last: neighbours often have equal ones, and finding it here takes no lock. */
struct xattr_table_memory {
	const struct tree_xattr *list;
	uint32_t count;
	uint32_t number;
};

MUST_CHECK errcode_t xattr_table_create(struct xattr_table **ret);
void xattr_table_destroy(struct xattr_table *table);

/*
 * The number of the set, for xattr_table_finish(); TREE_NO_XATTRS for an empty one. The list is sorted by
 * name and copied if it is new. Any thread; last belongs to the caller. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t xattr_table_intern(struct xattr_table *table, const struct tree_xattr *list, uint32_t count,
                                        struct xattr_table_memory *last, uint32_t *number);

/*
 * Gives the tree its sets, numbered in the order in which its nodes use them, and its nodes the new numbers.
 * What the sets point to moves into the tree's memory. Once, at the end.
 */
MUST_CHECK errcode_t xattr_table_finish(struct xattr_table *table, struct tree *tree);
