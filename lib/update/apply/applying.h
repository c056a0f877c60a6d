/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of apply/. Actions are carried out in batches, and each batch has three stages. The first takes inode
 * numbers and blocks (placing.h). The second writes contents, with all workers (copying.h). The third changes inodes
 * and directories (sealing.h). Batches follow each other in one transaction as long as its log has room.
 */
#pragma once

#include "ondisk/file_map.h"
#include "ondisk/xattr.h"
#include "support/run/pool.h"
#include "tree/contents.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"
#include "update/compare/inode_map.h"
#include "update/target/filesystem.h"

/* An xattr's value in an inode of its own (feature ea_inode). */
struct placed_value {
	uint32_t ino, hash, bytes;
	uint32_t of; /* which xattr of the set */
	void *data;  /* owned */
	struct extent_list extents;
	uint64_t *map_blocks; /* owned */
	uint32_t map_block_count;
	uint64_t clusters;
};

/* An inode without a name that has blocks for a while (releasing.h). */
struct holder {
	uint32_t ino;
	uint64_t *map_blocks; /* owned */
	uint32_t map_block_count;
	uint64_t blocks; /* with those of the map */
};

/* An inode that an action of the batch makes or makes anew, and the place of its contents. */
struct placed_inode {
	const struct update_action *action;
	uint32_t node, ino;
	uint32_t generation;
	struct extent_list extents; /* the final ones have been copied and committed, and are the holders' */
	struct holder *holders;     /* owned */
	size_t holder_count, holder_capacity;
	uint64_t *map_blocks; /* owned */
	uint32_t map_block_count;
	uint64_t clusters; /* of contents, map, xattr block and values */
	uint64_t xattr_block;
	bool has_old_inline; /* data in the inode, which stay there; so xattrs do not go there */
	struct xattr_layout layout;
	uint8_t *xattr_area;         /* owned; NULL: the inode has no xattrs in it */
	struct placed_value *values; /* owned */
	uint32_t value_count;
	uint32_t flags;       /* the file's flags, once they are known */
	uint8_t *inline_data; /* owned; NULL: the contents have blocks, or there are none */
	uint32_t inline_bytes;
};

/* A directory whose names change in the batch. */
struct open_directory;

struct applying {
	const struct update_options *options;
	struct update_plan *plan;
	struct update_report *report;
	struct problem *problem;
	struct pool *pool;
	struct update_filesystem *filesystem;
	const struct ondisk_format *format; /* of the filesystem */

	bool is_rehearsal; /* no contents are copied, and nothing is committed */
	bool may_divide;   /* the transaction has nothing yet, so its first file may be written in parts (parts.h) */
	/* These belong to the batch: */
	bool is_sealing;             /* inodes and directories have been changed */
	uint64_t reserved_blocks;    /* of the log, for its actions but not for what they release */
	struct placed_inode *placed; /* in ascending order of their actions */
	size_t placed_count, placed_capacity;
	struct inode_map numbers; /* by directory's inode: 1 + the number of its open_directory */
	struct open_directory **directories;
	size_t directory_count, directory_capacity;
};

/* Records a problem with the action's file. */
errcode_t applying_problem(const struct applying *applying, const struct update_action *action, errcode_t error,
                           const char *what);

static inline struct block_access *applying_access(const struct applying *applying)
{
	return &applying->filesystem->access.access;
}

static inline struct sink *applying_sink(const struct applying *applying)
{
	return &applying->filesystem->sink.sink;
}
