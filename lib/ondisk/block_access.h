/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A filesystem that is changed block by block: functions of the caller's, through which code in this folder reads,
 * changes and writes inodes, maps and quota files (filesystem/fs_access.h has them). Code here does no I/O of its own.
 *
 * All writes are of blocks that are in use or have just been allocated, so within a transaction they become part of
 * its step. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ondisk/format.h"

struct block_access {
	const struct ondisk_format *format; /* borrowed */
	uint64_t first_block, end_block;    /* of the filesystem's groups: [first, end) */
	uint64_t blocks_per_group;
	uint32_t inodes, inodes_per_group;

	/* One block of the filesystem, as it was last written. Errors of reading and writing. */
	errcode_t (*read)(struct block_access *access, uint64_t block, void *bytes);
	errcode_t (*write)(struct block_access *access, uint64_t block, const void *bytes);

	/* The first block of a group's inode table. 0: its place is impossible. */
	uint64_t (*inode_table)(struct block_access *access, uint32_t group);
	/*
	 * How many inodes at the front of the group's table have been written: the rest of it may hold anything, and
	 * counts as zeros. Code that writes an inode after them raises the number.
	 */
	uint32_t *(*written_inodes)(struct block_access *access, uint32_t group);

	/* True if one of the blocks is bitmap, inode table, descriptor or superblock, so that no inode can own it. */
	bool (*is_metadata)(struct block_access *access, uint64_t block, uint64_t count);

	/* Allocates a cluster near a block; *block is its first one. NULL: nothing may grow. EXT2MB_ET_NO_SPACE. */
	errcode_t (*alloc)(struct block_access *access, uint64_t goal, uint64_t *block);
	/* Frees whole clusters. NULL: nothing may be freed. ext2mb_free()'s errors. */
	errcode_t (*free)(struct block_access *access, uint64_t block, uint64_t count);

	/* As ext2mb_query_inode() and ext2mb_inode_free(). NULL: no inode is released. */
	errcode_t (*query_inode)(struct block_access *access, uint32_t ino, bool *is_in_use);
	errcode_t (*free_inode)(struct block_access *access, uint32_t ino, bool is_directory);
};

/* True if an inode may own all of these blocks. */
static inline bool block_access_may_own(struct block_access *access, uint64_t block, uint64_t count)
{
	return count && block >= access->first_block && block < access->end_block &&
	       count <= access->end_block - block && !access->is_metadata(access, block, count);
}
