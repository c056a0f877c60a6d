/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The allocator's books follow fs->block_map. */
#include <errno.h>

#include "allocator/attach/attached.h"
#include "allocator/core/allocator.h"
#include "allocator/core/arithmetic.h"
#include "allocator/fs/fs_state.h"
#include "allocator/group/group.h"

/*
 * Finds the part of [start, end) that is free and that nobody has claimed. The last cluster stays in use in the books
 * (fs_state.c): it is handed out only when the books have nothing else and the map is searched.
 */
static void give_up_run(struct attached *attached, uint64_t start, uint64_t end)
{
	const struct geometry *geometry = &attached->mb->geometry;
	const struct ext2mb_extent *out = &attached->handed_out;

	end = min_u64(end, geometry->end_block - geometry_cluster_blocks(geometry));
	if (start >= end)
		return;
	if (out->count && out->start < end && out->start + out->count > start) {
		if (start < out->start)
			give_up_run(attached, start, out->start);
		if (out->start + out->count < end)
			give_up_run(attached, out->start + out->count, end);
		return;
	}
	/* Refused: the blocks are the filesystem's own metadata, or wait for a commit already. */
	if (!ext2mb_free(attached->worker, start, end - start))
		attached->has_frees = true;
}

/*
 * Finds the run of blocks that the books have in the same state. Blocks after the first wrong run may be in another
 * state once that run is corrected.
 */
static uint64_t follow_alike(struct attached *attached, uint64_t start, uint64_t end, bool is_used)
{
	uint64_t from, stop;

	if (!fs_state_find_run(attached->mb->fs_state, !is_used, start, end, &from, &stop))
		return end;
	if (is_used)
		give_up_run(attached, from, stop);
	else if (ext2mb_mark_used(attached->worker, from, stop - from))
		return end;
	return stop;
}

static void commit(struct attached *attached)
{
	if (attached->has_frees)
		attached->has_frees = ext2mb_commit(attached->mb) != 0;
}

static void follow_in_group(struct attached *attached, uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end;) {
		enum ext2mb_block_use use;
		uint64_t alike;

		if (ext2mb_query_blocks(attached->mb, at, end - at, &use, &alike))
			return;
		at = follow_alike(attached, at, at + alike, use == EXT2MB_BLOCKS_USED);
	}
}

static uint32_t group_of(const struct attached *attached, uint64_t block)
{
	const struct geometry *geometry = &attached->mb->geometry;

	return (uint32_t)(geometry_position(geometry, block) / geometry->clusters_per_group);
}

static uint64_t group_start(const struct attached *attached, uint32_t group)
{
	return geometry_block(&attached->mb->geometry, group, 0);
}

/* A group that is not loaded yet will be loaded from the map. */
static bool is_read(const struct attached *attached, uint32_t group)
{
	return attached->mb->groups[group].state == GROUP_LOADED;
}

static bool is_within(const struct attached *attached, uint64_t block)
{
	return block >= attached->mb->geometry.first_block && block < attached->mb->geometry.end_block;
}

void attached_follow(struct attached *attached, uint64_t start, uint64_t end)
{
	const struct geometry *geometry = &attached->mb->geometry;
	uint64_t last = min_u64(end, geometry->end_block) - 1;

	if (!is_within(attached, start) || end <= start)
		return;
	start = geometry_block_at(geometry, geometry_position(geometry, start));
	end = geometry_block_at(geometry, geometry_position(geometry, last) + 1);
	commit(attached);
	for (uint32_t group = group_of(attached, start); group <= group_of(attached, last); group++)
		if (is_read(attached, group))
			follow_in_group(attached, max_u64(start, group_start(attached, group)),
			                min_u64(end, group_start(attached, group) +
			                                     geometry_to_blocks(geometry, geometry_group_clusters(
												  geometry, group))));
}

void attached_follow_group(struct attached *attached, uint64_t block)
{
	uint32_t group = group_of(attached, block);

	attached_follow(attached, group_start(attached, group),
	                group_start(attached, group) +
	                        geometry_to_blocks(&attached->mb->geometry, attached->mb->geometry.clusters_per_group));
}

/* True if books and map agree about a block: preallocated blocks are free in the map. */
static bool agrees(struct attached *attached, uint64_t block)
{
	enum ext2mb_block_use use;
	uint64_t alike;

	if (ext2mb_query_blocks(attached->mb, block, geometry_cluster_blocks(&attached->mb->geometry), &use, &alike))
		return true;
	return (use == EXT2MB_BLOCKS_USED) == (ext2fs_test_block_bitmap2(attached->map, block) != 0);
}

void attached_follow_back(struct attached *attached, uint64_t end)
{
	if (!is_within(attached, end - 1))
		return;
	for (uint32_t group = group_of(attached, end - 1);; group--) {
		bool goes_on = group && is_read(attached, group) && !agrees(attached, group_start(attached, group));

		attached_follow_group(attached, group_start(attached, group));
		if (!goes_on)
			return;
	}
}

void attached_follow_block(struct attached *attached, uint64_t block, bool is_used)
{
	const struct geometry *geometry = &attached->mb->geometry;

	if (attached_has_handed_out(attached, block) || !is_within(attached, block) ||
	    !is_read(attached, group_of(attached, block)))
		return;
	block = geometry_block_at(geometry, geometry_position(geometry, block));
	if (!is_used) {
		give_up_run(attached, block, block + geometry_cluster_blocks(geometry));
		return;
	}
	commit(attached);
	/*
	 * The books have it in use already: another hook has told of it, or the program freed it without calling a
	 * hook. If memory is short, a later comparison finds it.
	 */
	errcode_t error = ext2mb_mark_used(attached->worker, block, geometry_cluster_blocks(geometry));
	(void)error;
}

static bool has_same_geometry(const struct attached *attached)
{
	const struct geometry *geometry = &attached->mb->geometry;
	ext2_filsys fs = attached->fs;

	return ext2fs_blocks_count(fs->super) == geometry->end_block && fs->group_desc_count == geometry->groups &&
	       fs->super->s_first_data_block == geometry->first_block &&
	       (unsigned int)fs->cluster_ratio_bits == geometry->cluster_bits;
}

/* A block that was handed out and is still free in the map belongs to nobody. */
static void settle(struct attached *attached)
{
	struct ext2mb_extent out = attached->handed_out;
	uint64_t start, stop = out.start;

	attached->handed_out.count = 0;
	if (!out.count)
		return;
	while (stop < out.start + out.count &&
	       fs_state_find_run(attached->mb->fs_state, false, stop, out.start + out.count, &start, &stop))
		give_up_run(attached, start, stop);
}

errcode_t attached_prepare(struct attached *attached)
{
	ext2_filsys fs = attached->fs;
	errcode_t error = fs->block_map ? 0 : ext2fs_read_block_bitmap(fs);

	if (error)
		return error;
	if (!has_same_geometry(attached))
		return EXT2MB_ET_BAD_GEOMETRY;
	if (attached->map != fs->block_map) {
		attached->map = fs->block_map;
		attached->handed_out.count = 0;
		attached_follow(attached, attached->mb->geometry.first_block, attached->mb->geometry.end_block);
	}
	settle(attached);
	commit(attached);
	return 0;
}
