/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An allocator that serves libext2fs's own calls on a filesystem.
 *
 * fs->block_map is the truth: libext2fs marks there what its hooks hand out, with descriptors and counters, and
 * programs mark what they like. The allocator's own books follow it. What they have in use is
 *
 * - what is marked in the map,
 * - what lies in preallocations, which the map does not know: every reader of the map sees it free,
 * - what the last hook handed out, until the caller has marked it, or comes for something else and has not.
 *
 * Most changes are reported by libext2fs's other hooks. Those that are not are found where they would do harm: before
 * anything is handed out it is looked up in the map.
 */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "allocator/attach/attached_files.h"

struct attached {
	struct attached *next;
	ext2_filsys fs;
	ext2fs_block_bitmap map; /* that the allocator's books follow; NULL: it has read none yet */
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct attached_files files;
	struct ext2mb_extent
		handed_out; /* by the last hook; count 0: the caller has marked it, or has not and it is back */
	bool has_frees;     /* to be committed before anything is handed out */
};

/*
 * Before anything is handed out: loads the bitmap as libext2fs would, settles the last hand-out and makes free what was
 * freed. EXT2MB_ET_BAD_GEOMETRY: the filesystem has another size now. libext2fs's errors in reading.
 */
MUST_CHECK errcode_t attached_prepare(struct attached *attached);

/* Makes the books agree with the map from the cluster of start to that of end - 1. */
void attached_follow(struct attached *attached, uint64_t start, uint64_t end);

/* The same for the group of a block. */
void attached_follow_group(struct attached *attached, uint64_t block);

/* What ends there has been marked or freed; no saying where it began. */
void attached_follow_back(struct attached *attached, uint64_t end);

/* One block was marked or freed. */
void attached_follow_block(struct attached *attached, uint64_t block, bool is_used);

/*
 * A block, or a cluster, near goal (0: anywhere); ctx says for which file, and may be NULL.
 * EXT2MB_ET_NO_SPACE, ENOMEM.
 */
MUST_CHECK errcode_t attached_alloc_block(struct attached *attached, uint64_t goal, const struct blk_alloc_ctx *ctx,
                                          uint64_t *block);

/* As ext2fs_new_range() has it, but never more than count. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t attached_alloc_range(struct attached *attached, int flags, uint64_t goal, uint64_t count,
                                          struct ext2mb_extent *extent);

/* What was found in the map instead is handed out. */
void attached_alloc_found(struct attached *attached, uint64_t start, uint64_t count);

static inline bool attached_has_handed_out(const struct attached *attached, uint64_t block)
{
	return block >= attached->handed_out.start && block - attached->handed_out.start < attached->handed_out.count;
}
