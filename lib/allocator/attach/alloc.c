/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks for libext2fs's hooks. */
#include <errno.h>

#include "allocator/attach/attached.h"
#include "allocator/core/allocator.h"
#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/preallocation/normalize.h"

#define SECTOR_BITS 9u

/*
 * A file that has grown in order up to its 16th block is no longer a small file. It is expected to become 4 MiB long,
 * and then eight times its current length: from the fifth extent on, libext2fs verifies and writes a node of the tree
 * for each block (64 files in turns, 4 KiB a call: 5 microseconds of processor time a block with 4 extents, 18 with 5).
 * So the second extent should be long already, also of a shorter file that has been closed and goes on.
 */
#define EXPECTED_FROM 16u
#define EXPECTED_LEAST_BYTES (UINT64_C(4) << 20)
#define EXPECTED_GROWTH 8u

#define INDIRECT_LAG                                                                                                   \
	4u /* blocks that an inode's count does not have before its call ends: three levels and the data               \
	    */

static const struct geometry *geometry_of(const struct attached *attached)
{
	return &attached->mb->geometry;
}

static uint64_t cluster_start(const struct attached *attached, uint64_t block)
{
	return geometry_block_at(geometry_of(attached), geometry_position(geometry_of(attached), block));
}

static bool is_goal(const struct attached *attached, uint64_t goal)
{
	return goal >= geometry_of(attached)->first_block && goal < geometry_of(attached)->end_block;
}

static bool is_free_in_map(const struct attached *attached, const struct ext2mb_extent *extent)
{
	return ext2fs_test_block_bitmap_range2(attached->map, extent->start, extent->count);
}

/* libext2fs passes the block before the one that it wants. */
static uint64_t goal_after(const struct attached *attached, uint64_t goal)
{
	if (!is_goal(attached, goal))
		return 0;
	goal = cluster_start(attached, goal);
	return ext2fs_test_block_bitmap2(attached->map, goal) ? goal + geometry_cluster_blocks(geometry_of(attached)) :
	                                                        goal;
}

/* --- Files -------------------------------------------------------------------------------------------------- */

static uint64_t expected_blocks(const struct attached *attached, uint64_t logical)
{
	const struct geometry *geometry = geometry_of(attached);
	uint64_t least = round_up(EXPECTED_LEAST_BYTES >> geometry->block_bits, geometry_cluster_blocks(geometry));

	return min_u64(max_u64(least, EXPECTED_GROWTH * logical), NORMALIZE_END);
}

struct wanted {
	ext2_ino_t ino;
	bool is_indirect;
	uint64_t logical;
	uint64_t size; /* the file's, in blocks; programs may set it first and write then */
	uint64_t goal;
};

/* That map so many blocks. */
static uint64_t indirect_blocks(const struct geometry *geometry, uint64_t blocks)
{
	uint64_t pointers = geometry_block_bytes(geometry) / sizeof(uint32_t), below = EXT2_NDIR_BLOCKS, count = 0;

	/* Adds, for each tree, the blocks of all levels above its data. */
	for (uint64_t reach = pointers; blocks > below; below += reach, reach *= pointers)
		for (uint64_t unit = pointers; unit <= reach; unit *= pointers)
			count += (min_u64(blocks - below, reach) + unit - 1) / unit;
	return count;
}

/*
 * For an indirect-mapped file libext2fs does not pass the logical block. The order of the allocations serves as well,
 * since indirect blocks are allocated among the data.
 */
static struct wanted read_wanted(const struct attached *attached, uint64_t goal, const struct blk_alloc_ctx *ctx)
{
	const struct geometry *geometry = geometry_of(attached);
	const struct ext2_inode *inode = ctx->inode;
	uint64_t end = round_down(NORMALIZE_END, geometry_cluster_blocks(geometry));
	struct wanted wanted = {
		.ino = ctx->ino,
		.is_indirect = !(inode->i_flags & EXT4_EXTENTS_FL),
		.logical = ctx->lblk,
		.size = (EXT2_I_SIZE(inode) + geometry_block_bytes(geometry) - 1) >> geometry->block_bits,
		.goal = goal,
	};

	if (wanted.is_indirect) {
		wanted.logical =
			ext2fs_inode_i_blocks(attached->fs, ctx->inode) >> (geometry->block_bits - SECTOR_BITS);
		wanted.size += indirect_blocks(geometry, wanted.size);
	}
	wanted.logical = round_down(min_u64(wanted.logical, end - 1), geometry_cluster_blocks(geometry));
	wanted.size = min_u64(round_up(wanted.size, geometry_cluster_blocks(geometry)), end);
	return wanted;
}

static errcode_t open_file(struct attached *attached, const struct wanted *wanted, struct attached_file **file)
{
	struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.blocks = max_u64(wanted->size, wanted->logical),
		.ino = wanted->ino,
	};
	errcode_t error = attached_files_add(&attached->files, attached->worker, &info, file);

	if (error)
		return error;
	if (wanted->logical && wanted->logical >= wanted->size)
		attached_files_keep_more(&attached->files);
	(*file)->is_indirect = wanted->is_indirect;
	(*file)->next_logical = wanted->logical;
	return 0;
}

/* The file has become shorter, or another file now has its inode number. */
static void begin_again(struct attached *attached, struct attached_file *file, const struct wanted *wanted)
{
	ext2mb_file_truncate(attached->worker, file->file, wanted->logical);
	file->is_indirect = wanted->is_indirect;
	file->next_logical = wanted->logical;
	file->run_end = 0;
	file->goes_back = false;
}

static bool has_begun_again(const struct attached_file *file, const struct wanted *wanted)
{
	if (file->is_indirect != wanted->is_indirect)
		return true;
	if (file->is_indirect)
		return wanted->logical + INDIRECT_LAG < file->next_logical;
	return wanted->logical < file->next_logical && wanted->logical >= wanted->size;
}

/*
 * Blocks that arrive in order end at the size that the program has set before it wrote; without a size, the file is
 * expected to go on as others did.
 */
static void expect(const struct attached *attached, struct attached_file *file, const struct wanted *wanted)
{
	if (wanted->logical != file->next_logical)
		return;
	if (wanted->logical < wanted->size)
		file_ends(file->file, wanted->size);
	else if (wanted->logical >= EXPECTED_FROM || file->has_gone_on)
		file_expect(file->file, expected_blocks(attached, wanted->logical));
	else
		file_goes_on(file->file);
}

/*
 * A program that writes in order and leaves a hole, as mke2fs and tar do for zeros, rarely fills the hole later. So the
 * blocks after the hole follow on disk, too; otherwise each hole would leave a gap there.
 */
static void skip_hole(struct attached *attached, struct attached_file *file, const struct wanted *wanted)
{
	file->goes_back |= wanted->logical < file->next_logical;
	if (file->goes_back || wanted->logical == file->next_logical)
		return;
	file_leave_rest(attached->worker, file->file);
	file->next_logical = wanted->logical;
}

static errcode_t alloc_for(struct attached *attached, struct attached_file *file, const struct wanted *wanted,
                           struct ext2mb_extent *extent)
{
	const struct geometry *geometry = geometry_of(attached);
	uint64_t cluster = geometry_cluster_blocks(geometry);
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = wanted->logical,
		.count = cluster,
		.hole_start = wanted->logical,
		.hole_end = wanted->logical < wanted->size ? wanted->size : round_down(NORMALIZE_END, cluster),
	};

	skip_hole(attached, file, wanted);
	expect(attached, file, wanted);
	if (wanted->logical == file->next_logical && file->run_end)
		request.left_physical = file->run_end;
	else if (wanted->logical && is_goal(attached, wanted->goal))
		request.left_physical = cluster_start(attached, wanted->goal) + cluster;
	errcode_t error = ext2mb_file_alloc(attached->worker, file->file, &request, extent);
	if (!error)
		attached_file_extend(file, wanted->logical, extent);
	return error;
}

static errcode_t alloc_of_file(struct attached *attached, uint64_t goal, const struct blk_alloc_ctx *ctx,
                               struct ext2mb_extent *extent)
{
	struct wanted wanted = read_wanted(attached, goal, ctx);
	struct attached_file *file = attached_files_find(&attached->files, wanted.ino);
	errcode_t error = file ? 0 : open_file(attached, &wanted, &file);

	if (error)
		return error;
	file->size = wanted.size;
	if (has_begun_again(file, &wanted))
		begin_again(attached, file, &wanted);
	else if (wanted.is_indirect)
		wanted.logical = file->next_logical;
	return alloc_for(attached, file, &wanted, extent);
}

/* --- Without a file ----------------------------------------------------------------------------------------- */

/*
 * Requests for indirect blocks, and for the blocks that they point to, do not name their file. They are served near the
 * block before them.
 */
static errcode_t alloc_of_indirect(struct attached *attached, struct attached_file *file, struct ext2mb_extent *extent)
{
	struct wanted wanted = {
		.ino = file->ino,
		.is_indirect = true,
		.logical = file->next_logical,
		.size = file->size,
	};

	return alloc_for(attached, file, &wanted, extent);
}

/*
 * Directories, symlinks, nodes of extent trees and xattr blocks are allocated near the goal without a preallocation, as
 * in the kernel.
 */
static errcode_t alloc_near(struct attached *attached, uint64_t goal, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = goal_after(attached, goal),
		.count = geometry_cluster_blocks(geometry_of(attached)),
	};

	return ext2mb_alloc(attached->worker, &request, extent);
}

static errcode_t alloc_any(struct attached *attached, uint64_t goal, const struct blk_alloc_ctx *ctx,
                           struct ext2mb_extent *extent)
{
	if (ctx && ctx->ino && ctx->inode)
		return alloc_of_file(attached, goal, ctx, extent);
	struct attached_file *file = attached_files_find_indirect(&attached->files, goal);

	return file ? alloc_of_indirect(attached, file, extent) : alloc_near(attached, goal, extent);
}

/*
 * True if the map says that the blocks are free, too. If not, the program has marked blocks without calling a hook, and
 * the whole group is compared with the map. That happens at most once for each group before the books are right.
 */
static bool is_ours(struct attached *attached, const struct ext2mb_extent *extent)
{
	if (is_free_in_map(attached, extent)) {
		attached->handed_out = *extent;
		return true;
	}
	attached_follow_group(attached, extent->start);
	return false;
}

errcode_t attached_alloc_block(struct attached *attached, uint64_t goal, const struct blk_alloc_ctx *ctx,
                               uint64_t *block)
{
	for (uint32_t round = 0; round <= geometry_of(attached)->groups; round++) {
		struct ext2mb_extent extent;
		errcode_t error = alloc_any(attached, goal, ctx, &extent);

		if (error)
			return error;
		if (is_ours(attached, &extent)) {
			*block = extent.start;
			return 0;
		}
	}
	return EXT2MB_ET_NO_SPACE;
}

/* --- Ranges ------------------------------------------------------------------------------------------------- */

/* The file that now needs blocks may itself hold the preallocation there, so it gives it back. */
static errcode_t alloc_at_goal(struct attached *attached, const struct ext2mb_request *request,
                               struct ext2mb_extent *extent)
{
	errcode_t error = ext2mb_alloc(attached->worker, request, extent);
	struct attached_file *file = error ? attached_files_find_end(&attached->files, request->goal) : NULL;

	if (!file)
		return error;
	ext2mb_file_truncate(attached->worker, file->file, file->next_logical);
	return ext2mb_alloc(attached->worker, request, extent);
}

static errcode_t alloc_range(struct attached *attached, int flags, uint64_t goal, uint64_t count,
                             struct ext2mb_extent *extent)
{
	const struct geometry *geometry = geometry_of(attached);
	uint64_t group_blocks = geometry_to_blocks(geometry, geometry->clusters_per_group);
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = is_goal(attached, goal) ? cluster_start(attached, goal) : 0,
	};

	request.count = round_up(count + (request.goal ? goal - request.goal : 0), geometry_cluster_blocks(geometry));
	if (flags & EXT2_NEWRANGE_MIN_LENGTH)
		request.flags |= EXT2MB_ALLOC_WHOLE;
	else
		request.count = min_u64(request.count, group_blocks);
	if (request.count > group_blocks)
		return EXT2MB_ET_NO_SPACE;
	if (flags & EXT2_NEWRANGE_FIXED_GOAL) {
		request.flags |= EXT2MB_ALLOC_GOAL_ONLY;
		return request.goal ? alloc_at_goal(attached, &request, extent) : EXT2MB_ET_NO_SPACE;
	}
	return ext2mb_alloc(attached->worker, &request, extent);
}

errcode_t attached_alloc_range(struct attached *attached, int flags, uint64_t goal, uint64_t count,
                               struct ext2mb_extent *extent)
{
	for (uint32_t round = 0; round <= geometry_of(attached)->groups; round++) {
		errcode_t error = alloc_range(attached, flags, goal, count, extent);

		if (error)
			return error;
		if (!is_ours(attached, extent))
			continue;
		/* A fixed goal may lie in the middle of its cluster. */
		if (goal > extent->start && goal - extent->start < geometry_cluster_blocks(geometry_of(attached)) &&
		    flags & EXT2_NEWRANGE_FIXED_GOAL) {
			extent->count -= goal - extent->start;
			extent->start = goal;
		}
		extent->count = min_u64(extent->count, count);
		return 0;
	}
	return EXT2MB_ET_NO_SPACE;
}

void attached_alloc_found(struct attached *attached, uint64_t start, uint64_t count)
{
	const struct geometry *geometry = geometry_of(attached);
	uint64_t from = cluster_start(attached, start);
	uint64_t end = cluster_start(attached, start + count - 1) + geometry_cluster_blocks(geometry);

	/* Preallocations are no reason to refuse the request. Where the books and the map differ, the map is right. */
	ext2mb_discard_preallocations(attached->worker);
	attached_follow(attached, from, end);
	if (attached->has_frees)
		attached->has_frees = ext2mb_commit(attached->mb) != 0;
	errcode_t error = ext2mb_mark_used(attached->worker, from, end - from);
	(void)error;
	attached->handed_out = (struct ext2mb_extent){ from, end - from };
}
