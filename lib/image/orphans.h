/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inodes that a mount would delete or cut off, and the filesystem's own ones. (lib/orphan serves filesystems that are
 * open through libext2fs, to change them.)
 */
#pragma once

#include "image/inode.h"
#include "image/map_walk.h"

/* Gets the inode number of an orphan, which is not one of the filesystem's own. */
typedef void (*orphan_function)(void *context, uint32_t ino);

/*
 * Shows the orphans: those of the superblock's list, in its order, then those of the orphan file, in the order of its
 * slots. Leaves out, and reports as damage, a list that leads to no inode or in a circle, and blocks of the file with
 * wrong magic numbers or checksums. Memory: a bit per inode if there is a list. Errors: ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t orphans_read(struct map_walker *walker, orphan_function function, void *context);

/*
 * The treatment of an orphan by a mount after the replay of the journal (the kernel's fs/ext4/orphan.c): a file
 * without links is deleted. If it has links, the blocks after its size are freed, and it leaves the orphans: a
 * truncation, or a write that made it longer, was interrupted.
 */
enum orphan_fate { ORPHAN_NONE, ORPHAN_DELETED, ORPHAN_TRUNCATED };

struct orphan {
	uint32_t ino;
	enum orphan_fate fate;
};

/* Zero-initialise. */
struct orphans {
	struct orphan *items; /* owned; ascending, each inode once */
	size_t count, capacity;
};

/*
 * Finds all orphans with their fates. There are none if the superblock says that the filesystem has errors: then a
 * mount ignores them until e2fsck has run. Besides the damage of orphans_read() it leaves out, and reports as damage,
 * inodes that are not in use, and inodes with links that the kernel never truncates (devices, short symlinks); the
 * kernel stops reading the list there. Memory: 8 bytes each. Errors: as of orphans_read(). The caller frees *orphans
 * after errors, too.
 */
MUST_CHECK errcode_t orphans_find(struct map_walker *walker, struct orphans *orphans);
void orphans_free(struct orphans *orphans);

/* ORPHAN_NONE: the inode is not an orphan. Any thread. */
enum orphan_fate orphans_fate(const struct orphans *orphans, uint32_t ino);

/* The inodes of quotas of users, groups and projects; 0: there is none. Pure. */
struct quota_inodes {
	uint32_t user, group, project;
};

struct quota_inodes volume_quota_inodes(const struct volume *volume);
