/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filesystem while it is changed: open through libext2fs for transactions, with an allocator. All changes go
 * through its sink and its block_access.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"
#include "filesystem/fs_access.h"
#include "image/transaction_sink.h"
#include "image/volume.h"
#include "ondisk/inode_release.h"
#include "update/build/options.h"
#include "update/target/free_extents.h"

/* An inode that nothing leads to, and its index for ext2mb_orphan_delete(). */
struct pending_orphan {
	uint32_t ino, index;
};

struct update_filesystem {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct free_extents free;
	uint64_t most_logged_blocks; /* the user's limit; 0: any number */
	struct volume volume;        /* read after the replay, before the first change, a release of orphans included */
	bool is_open;                /* the volume is open */
	bool has_access;
	struct transaction_sink sink;
	struct fs_access access;
	struct inode_release release;
	struct quota_changes quota;
	uint32_t quota_inodes[QUOTA_TYPES];
	uint64_t *touched;              /* a bit for each group whose bitmaps have changed since the last commit */
	uint32_t touched_groups;        /* how many */
	struct ext2mb_orphans *orphans; /* NULL: there has been none yet */
	struct pending_orphan *pending; /* owned: those that are to be released in further steps */
	size_t orphan_count, orphan_capacity;
	errcode_t (*free_blocks)(struct block_access *access, uint64_t block, uint64_t count); /* the sink's own */
};

/*
 * Opens path, which is the image or a copy of it. This replays its journal; orphans are there still. Errors are those
 * of ext2mb_transaction_io_manager(). flags: 0, or EXT2_FLAG_SKIP_MMP for a rehearsal: ext2fs_open2() waits 11 s for
 * others that could have the feature mmp's mark.
 */
MUST_CHECK errcode_t update_filesystem_open(const struct update_options *options, const char *path, int flags,
                                            struct update_filesystem *filesystem, struct problem *problem);

/*
 * Returns the time that new states of the filesystem have. It is not the present time, so that equal updates give equal
 * bytes.
 */
int64_t update_filesystem_time(const struct update_options *options, const struct ext2_super_block *super);

/*
 * When files are deleted: e2fsck takes a time below the number of inodes for the next one in a list of orphans, and
 * SOURCE_DATE_EPOCH may be one.
 */
uint32_t update_filesystem_deletion_time(ext2_filsys fs);

/* Ends a step with a commit: afterwards all changes so far are on the disk. EXT2MB_ET_TRANSACTION_SIZE and others. */
MUST_CHECK errcode_t update_filesystem_commit(struct update_filesystem *filesystem);

/*
 * Before the first change: nothing is written from now on (ext2mb_transaction_rehearse()). Afterwards the filesystem is
 * closed as after an error.
 */
MUST_CHECK errcode_t update_filesystem_rehearse(struct update_filesystem *filesystem);

/*
 * In a rehearsal: counts the blocks that update_filesystem_commit() would write into the log. Errors of that function,
 * but not EXT2MB_ET_TRANSACTION_SIZE.
 */
MUST_CHECK errcode_t update_filesystem_count(struct update_filesystem *filesystem, uint64_t *blocks);

/* The most blocks that a commit would write into the log now, and the number that it may write. */
uint64_t update_filesystem_log_blocks(const struct update_filesystem *filesystem);
uint64_t update_filesystem_log_room(const struct update_filesystem *filesystem);

/*
 * Takes blocks, in whole clusters: at the goal if all of them are free there, else where free_extents_take() finds
 * them. goal 0: there is none. EXT2MB_ET_NO_SPACE.
 */
MUST_CHECK errcode_t update_filesystem_take(struct update_filesystem *filesystem, uint64_t goal, uint64_t near,
                                            uint64_t count, struct ext2mb_extent *extent);

/* Takes `count` single clusters, from the goal on as far as they are free there. */
MUST_CHECK errcode_t update_filesystem_take_clusters(struct update_filesystem *filesystem, uint64_t goal, uint64_t near,
                                                     uint64_t *blocks, uint32_t count);

/* Note that bitmaps change: those of blocks, or of an inode. */
void update_filesystem_touch_blocks(struct update_filesystem *filesystem, uint64_t block, uint64_t count);
void update_filesystem_touch_inode(struct update_filesystem *filesystem, uint32_t ino);

/* Notes that files use xattrs, or have 2 GiB and more: the superblock says so from the next commit on. */
void update_filesystem_note(struct update_filesystem *filesystem, bool has_xattrs, bool has_large_files);

/*
 * Closes the filesystem and drops changes that are not committed. error is that of the work done with it; if there is
 * one, the handle does not write. Returns errors of closing. A struct of zeros is left alone.
 */
MUST_CHECK errcode_t update_filesystem_close(struct update_filesystem *filesystem, errcode_t error);
