/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inodes that a mount would delete or cut off, and the filesystem's own ones. (lib/orphan serves filesystems that are
 * open through libext2fs, to change them.)
 */
#pragma once

#include "image/inode.h"
#include "image/map_walk.h"

/* Is shown the number of an orphan, one that a user's file may have. */
typedef void (*orphan_function)(void *context, uint32_t ino);

/*
 * Shows the orphans: those of the superblock's list, in its order, then those of the orphan file, in the order of its
 * slots. Told as damage, and left out: a list that leads to no inode or in a circle, and blocks of the file with wrong
 * magic numbers or checksums. Memory: a bit an inode, where there is a list. Errors: ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t orphans_read(struct map_walker *walker, orphan_function function, void *context);

/* The inodes of quotas of users, groups and projects; 0: there is none. Pure. */
struct quota_inodes {
	uint32_t user, group, project;
};

struct quota_inodes volume_quota_inodes(const struct volume *volume);
