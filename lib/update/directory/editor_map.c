/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/editor_map.h"

#include <errno.h>

#include <ext2fs/ext2_err.h>

/* Returns the block after the last one that has a place; 0 if there is none. */
static uint64_t end_of(const struct extent_list *map)
{
	if (!map->count)
		return 0;
	const struct file_extent *last = &map->extents[map->count - 1];

	return last->physical + last->count;
}

/* Takes a run for the blocks from `next` on: the rest of the last cluster, or a run from allocate(). */
static errcode_t take_run(struct editor_blocks *blocks, const struct editor_allocation *allocation, uint32_t next,
                          uint64_t *start, uint32_t *got)
{
	const uint32_t cluster_mask = (1u << blocks->format->cluster_bits) - 1;
	const uint64_t end = end_of(&blocks->map);
	const uint32_t wanted = blocks->count - next;

	if (next & cluster_mask) {
		uint32_t left = cluster_mask + 1 - (next & cluster_mask);

		*start = end;
		*got = left < wanted ? left : wanted;
		return (end & cluster_mask) == (next & cluster_mask) ? 0 : EXT2_ET_DIR_CORRUPTED;
	}
	*got = 0;
	errcode_t error =
		allocation->allocate(allocation->context, next, end ? end : allocation->goal, wanted, start, got);

	if (error)
		return error;
	return *got && *got <= wanted && !(*start & cluster_mask) ? 0 : EINVAL;
}

static errcode_t map_new(struct editor_blocks *blocks, const struct editor_allocation *allocation)
{
	for (uint32_t next = blocks->mapped, got; next < blocks->count; next += got) {
		uint64_t start;
		errcode_t error = take_run(blocks, allocation, next, &start, &got);

		if (!error)
			error = extent_list_add(&blocks->map, next, start, got);
		if (error)
			return error;
	}
	return 0;
}

errcode_t editor_map_new_blocks(struct editor_blocks *blocks, const struct editor_allocation *allocation)
{
	const size_t extent_count = blocks->map.count;
	const uint32_t last_count = extent_count ? blocks->map.extents[extent_count - 1].count : 0;
	errcode_t error = map_new(blocks, allocation);

	if (!error) {
		blocks->mapped = blocks->count;
		return 0;
	}
	blocks->map.count = extent_count;
	if (extent_count)
		blocks->map.extents[extent_count - 1].count = last_count;
	return error;
}
