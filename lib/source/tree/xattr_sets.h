/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes the xattrs of a whole tree's files: first sets are added or changed at will, then equal ones made one. */
#pragma once

#include "source/tree/tree.h"

/*
 * A further set, which may equal another for the time being: that of `like` with one xattr changed or, if it had none
 * of that name, added. name and value must be in the tree's memory. *capacity belongs to tree->xattr_sets: the caller
 * starts with 0 and keeps it. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t xattr_sets_add(struct tree *tree, size_t *capacity, uint32_t like, const struct tree_xattr *xattr,
                                    uint32_t *number);

/*
 * Makes equal sets one, drops those that no node has, and numbers them in the order in which nodes use them, as
 * source/tree/tree.h promises. ENOMEM; the tree can then only be destroyed.
 */
MUST_CHECK errcode_t xattr_sets_unify(struct tree *tree);
