/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An allocator that serves libext2fs's own calls on a filesystem.
 *
 * fs->block_map is the truth: libext2fs marks there the blocks that its hooks hand out and updates descriptors and
 * counters; programs mark any blocks. The allocator's own bitmaps follow it. They count as in use
 *
 * - the blocks that are marked in the map,
 * - the blocks of preallocations, which are free in the map,
 * - the blocks that the last hook handed out, until the caller has marked them, or makes its next request without
 *   having marked them.
 *
 * libext2fs's other hooks report most changes. The allocator finds the rest where they would do harm: it looks blocks
 * up in the map before it hands them out.
 */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "allocator/attach/attached_files.h"

struct attached {
	struct attached *next;
	ext2_filsys fs;
	ext2fs_block_bitmap map; /* the map that the allocator follows; NULL: it has read none yet */
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct attached_files files;
	struct ext2mb_extent handed_out; /* by the last hook; count 0: the caller has marked it, or it is free again */
	bool has_frees;                  /* frees must be committed before the next hand-out */
};

/*
 * To be called before each hand-out: loads the bitmap as libext2fs would, settles the last hand-out and commits frees.
 * EXT2MB_ET_BAD_GEOMETRY: the filesystem's size has changed. Also libext2fs's read errors.
 */
MUST_CHECK errcode_t attached_prepare(struct attached *attached);

/* Copies the map's state into the allocator, from the cluster of start to that of end - 1. */
void attached_follow(struct attached *attached, uint64_t start, uint64_t end);

/* The same for the group of a block. */
void attached_follow_group(struct attached *attached, uint64_t block);

/* A range that ends there has been marked or freed; its start is unknown. */
void attached_follow_back(struct attached *attached, uint64_t end);

/* One block was marked or freed. */
void attached_follow_block(struct attached *attached, uint64_t block, bool is_used);

/*
 * Allocates a block, or a cluster, near goal (0: anywhere); ctx says for which file, and may be NULL.
 * EXT2MB_ET_NO_SPACE, ENOMEM.
 */
MUST_CHECK errcode_t attached_alloc_block(struct attached *attached, uint64_t goal, const struct blk_alloc_ctx *ctx,
                                          uint64_t *block);

/* Allocates as ext2fs_new_range() does, but never more than count blocks. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t attached_alloc_range(struct attached *attached, int flags, uint64_t goal, uint64_t count,
                                          struct ext2mb_extent *extent);

/* Notes blocks that the caller found in the map instead as handed out. */
void attached_alloc_found(struct attached *attached, uint64_t start, uint64_t count);

/*
 * The program has closed the file for which it allocated last, as ext2mb-run learns from libfuse. fs may have no
 * allocator. The thread that uses fs.
 */
void attached_end_newest_file(ext2_filsys fs);

static inline bool attached_has_handed_out(const struct attached *attached, uint64_t block)
{
	return block >= attached->handed_out.start && block - attached->handed_out.start < attached->handed_out.count;
}
