/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of xattrs of a tree in the form of lib/ondisk. */
#pragma once

#include "ondisk/xattr.h"
#include "tree/tree.h"

struct xattr_list {
	struct xattr list[XATTR_MAX_COUNT];
	uint32_t count;
	struct xattr_layout layout;
};

/* E2BIG: more than a file can have. Errors of xattr_place(). */
MUST_CHECK errcode_t xattr_list_make(const struct tree *tree, uint32_t set, const struct ondisk_format *format,
                                     struct xattr_list *list);
