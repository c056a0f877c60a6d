/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash tree of dm-verity that follows the filesystem in its file (ondisk/dm_verity.h). An update makes it stale, so
 * it is made anew, with the algorithm, salt, UUID and sizes of blocks that it had. Main thread.
 */
#pragma once

#include "image/volume.h"
#include "ondisk/dm_verity.h"
#include "support/run/pool.h"
#include "update/build/options.h"
#include "update/build/report.h"

struct appended_tree {
	bool is_there;
	struct dm_verity_value value;
};

/* Looks after the filesystem. EINVAL: what is there is none that this program can make. */
MUST_CHECK errcode_t appended_tree_find(const struct volume *volume, struct appended_tree *tree);

/* Cuts it off from a file that has the filesystem of this volume, so that the filesystem may grow. */
MUST_CHECK errcode_t appended_tree_cut(const struct volume *volume, int descriptor);

/*
 * Writes the tree of the filesystem in `path` after it, its superblock last, and reports the root hash. descriptor: of
 * the same file. EINVAL: the filesystem has grown to a size that is no whole number of the tree's data blocks.
 */
MUST_CHECK errcode_t appended_tree_write(const struct update_options *options, const struct appended_tree *tree,
                                         const char *path, int descriptor, struct pool *pool,
                                         struct update_report *report, struct problem *problem);
