/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the tree that fs-verity protects, and that it protects in the image, too. */
#pragma once

#include "contents/block_runs.h"
#include "contents/protection.h"

/*
 * Finds those that the filesystem can hold. Errors for others that are asked for, not only inherited from a source:
 * ENOTSUP, E2BIG, EFBIG, and the problem says why. ENOMEM. The caller calls protection_release() in any case; tree,
 * format and image last until then.
 */
MUST_CHECK errcode_t protected_nodes_find(struct protection *protection, struct tree *tree,
                                          const struct ondisk_format *format, const char *image,
                                          struct problem *problem);

static inline bool protected_nodes_has(const struct protection *protection, uint32_t node)
{
	return protection_find(protection, node);
}

/* A walk over the blocks of a regular file's contents, and of what protects it. */
void protected_nodes_runs(const struct protection *protection, const struct ondisk_format *format,
                          const struct tree_node *node, struct block_runs *runs);
