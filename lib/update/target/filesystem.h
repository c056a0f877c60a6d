/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filesystem while it is changed: open through libext2fs for transactions, with an allocator. All changes go
 * through its sink and its block_access.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"
#include "image/sink_access.h"
#include "image/transaction_sink.h"
#include "image/volume.h"
#include "orphan/inode_release.h"
#include "update/build/options.h"

struct update_filesystem {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	uint64_t most_logged_blocks; /* the user's; 0: any number */
	struct volume volume;        /* read after a replay, before the first change */
	bool is_open;                /* the volume; and */
	bool has_access;
	struct transaction_sink sink;
	struct sink_access access;
	struct inode_release release;
	struct quota_changes quota;
	uint32_t quota_inodes[QUOTA_TYPES];
	uint64_t *touched;       /* a bit per group whose bitmaps have changed since the last commit */
	uint32_t touched_groups; /* how many */
	errcode_t (*free_blocks)(struct block_access *access, uint64_t block, uint64_t count);
};

/*
 * Opens path, which is the image or a copy of it; this replays its journal, and releases orphans. Errors: those of
 * ext2mb_transaction_io_manager().
 */
MUST_CHECK errcode_t update_filesystem_open(const struct update_options *options, const char *path,
                                            struct update_filesystem *filesystem, struct problem *problem);

/* The time that new states of the filesystem have: not the present one, so that equal updates give equal bytes. */
int64_t update_filesystem_time(const struct update_options *options, const struct ext2_super_block *super);

/* Ends a step with a commit: afterwards all that was done is on the disk. EXT2MB_ET_TRANSACTION_SIZE and others. */
MUST_CHECK errcode_t update_filesystem_commit(struct update_filesystem *filesystem);

/* The blocks that a commit would write into the log now, at most; and how many it may. */
uint64_t update_filesystem_log_blocks(const struct update_filesystem *filesystem);
uint64_t update_filesystem_log_room(const struct update_filesystem *filesystem);

/* Takes blocks, whole clusters, near a goal. EXT2MB_ET_NO_SPACE. */
MUST_CHECK errcode_t update_filesystem_take(struct update_filesystem *filesystem, uint64_t goal, uint64_t count,
                                            struct ext2mb_extent *extent);

/* Notes that bitmaps change: of blocks, of an inode. */
void update_filesystem_touch_blocks(struct update_filesystem *filesystem, uint64_t block, uint64_t count);
void update_filesystem_touch_inode(struct update_filesystem *filesystem, uint32_t ino);

/* Files use xattrs, or are of 2 GiB and more: the superblock says so from the next commit on. */
void update_filesystem_note(struct update_filesystem *filesystem, bool has_xattrs, bool has_large_files);

/*
 * Closes it; what has not been committed is dropped. error: of what was done with it, after which the handle is not
 * to write. Returns errors of closing. Does nothing to what is all zeros.
 */
MUST_CHECK errcode_t update_filesystem_close(struct update_filesystem *filesystem, errcode_t error);
