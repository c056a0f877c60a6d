/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates a map's blocks as the kernel does: one by one, while the file grows at its end. */
#include <errno.h>
#include <stdlib.h>

#include "allocator/core/allocator.h"
#include "ondisk/file_map.h"
#include "simulate/image/image.h"

#define ROOT_ENTRIES 4u /* entries of an extent tree in the inode */
#define LEAST_FLEX 4u   /* in flex groups of at least this many groups, the first one is left to directories */

/*
 * The goal of the first block is the inode's group, or the one after the first of its flex group; later goals are
 * near the file's end. In an indirect map it is near the file's last block, and then near the map's previous block.
 */
static uint64_t goal_of(const struct image *image, const struct simulated_file *file)
{
	const struct geometry *geometry = &image->geometry;
	uint32_t group = (file->ino - 1) / geometry->inodes_per_group;
	const struct file_extent *last = &file->map.extents[file->map.count - 1];
	uint64_t end = last->physical + (last->count & ~FILE_EXTENT_UNWRITTEN);

	if (file->pointers)
		return file->map_count ? file->map_blocks[file->map_count - 1] : end - 1;
	if (file->map_count)
		return end - (end - geometry->first_block) % geometry_cluster_blocks(geometry);
	if (geometry->flex_groups >= LEAST_FLEX) {
		group -= group % geometry->flex_groups;
		group += group + 1 < geometry->groups;
	}
	return geometry_block(geometry, group, 0);
}

/* When the inode's own entries are used up, the map becomes deeper: the new block goes before the first one. */
static errcode_t cut_before_first(const struct simulated_file *file, struct ext2mb_worker *worker,
                                  struct ext2mb_extent *extent)
{
	uint64_t step = geometry_cluster_blocks(&worker->mb->geometry);
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = file->map_blocks[0] - step,
		.count = step,
		.flags = EXT2MB_ALLOC_GOAL_ONLY,
	};
	errcode_t error = ext2mb_alloc(worker, &request, extent);

	if (error != EXT2MB_ET_NO_SPACE)
		return error;
	request.flags = 0;
	return ext2mb_alloc(worker, &request, extent);
}

static errcode_t cut_one(const struct image *image, const struct simulated_file *file, struct ext2mb_worker *worker,
                         uint64_t needed, struct ext2mb_extent *extent)
{
	const struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                                .goal = goal_of(image, file),
		                                .count = geometry_cluster_blocks(&image->geometry) };

	if (!file->pointers && file->map_count == ROOT_ENTRIES && needed > ROOT_ENTRIES + 1)
		return cut_before_first(file, worker, extent);
	return ext2mb_alloc(worker, &request, extent);
}

errcode_t simulated_file_grow_map(struct image *image, struct simulated_file *file, struct ext2mb_worker *worker)
{
	const struct file_extent one = { .count = file->blocks + 1 };
	errcode_t error = 0;

	if (file->pointers && !simulated_file_begins_map_block(file))
		return 0;
	uint64_t needed = file->pointers ? file_map_blocks(&image->format, &one, 1) :
	                                   file_map_blocks(&image->format, file->map.extents, file->map.count);
	if (needed <= file->map_count)
		return 0;
	uint64_t *blocks = realloc(file->map_blocks, needed * sizeof(*blocks));
	if (!blocks)
		return ENOMEM;
	file->map_blocks = blocks;
	while (file->map_count < needed && !error) {
		struct ext2mb_extent extent;

		error = cut_one(image, file, worker, needed, &extent);
		if (!error)
			file->map_blocks[file->map_count++] = extent.start;
	}
	return error;
}
