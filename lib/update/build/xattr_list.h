/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of the tree's xattrs in the form of lib/ondisk. */
#pragma once

#include "ondisk/xattr.h"
#include "tree/tree.h"

struct xattr_list {
	struct xattr list[XATTR_MAX_COUNT];
	uint32_t count;
	struct xattr_layout layout;
};

/* E2BIG: a file cannot have so many. Other errors are xattr_place()'s. */
MUST_CHECK errcode_t xattr_list_make(const struct tree *tree, uint32_t set, const struct ondisk_format *format,
                                     struct xattr_list *list);
