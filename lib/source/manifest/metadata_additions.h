/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a manifest has and the tree does not: collected while it is read, then made all at once. */
#pragma once

#include "source/mtree/mtree.h"
#include "support/run/pool.h"

/* Zero-initialise. */
struct additions {
	struct mtree_entry *entries; /* in the order of the manifest */
	size_t count, capacity;
	struct arena memory; /* theirs */
};

void additions_destroy(struct additions *additions);

/* Keeps a copy. ENOMEM. */
MUST_CHECK errcode_t additions_note(struct additions *additions, const struct mtree_entry *entry);

/*
 * Makes the files in *tree, which is replaced, without what the entries say of owner, mode, time and xattrs. EINVAL
 * with a reason: no entry of a path has a type that can be made, the directory that a file is to be in is missing too,
 * or a symlink has no target or a device no number. manifest is for problems, which name it and the line.
 */
MUST_CHECK errcode_t additions_make(const struct additions *additions, const char *manifest, struct tree **tree,
                                    struct pool *pool, struct problem *problem);
