/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/free/sync.h"

#include <errno.h>

#include "allocator/free/commit.h"
#include "allocator/fs/fs_state.h"
#include "allocator/group/group.h"
#include "allocator/preallocation/preallocation_register.h"

static errcode_t sync_group(struct ext2mb *mb, uint32_t number, uint8_t *buffer)
{
	struct group *group = &mb->groups[number];
	struct inode_group *inodes = &group->inodes;
	struct group_counts counts = {
		.free_clusters = group_free_clusters(group),
		.free_inodes = inodes->free_inodes,
		.directories = inodes->directories,
		.unused_inodes = inodes->unused_inodes,
	};

	if (!group->is_dirty && !inodes->is_dirty)
		return 0;
	errcode_t error = fs_state_write_group(mb->fs_state, number, group->is_dirty ? group->buddy->bitmap : NULL,
	                                       inodes->is_dirty ? inodes->bitmap : NULL, &counts, buffer);
	if (error)
		return error;
	uint32_t written = (uint32_t)group->is_to_be_written + inodes->is_dirty;

	atomic_fetch_sub_explicit(&mb->bitmaps_to_write, written, memory_order_relaxed);
	group->is_dirty = group->is_to_be_written = inodes->is_dirty = false;
	return 0;
}

static errcode_t sync_groups(struct ext2mb *mb)
{
	if (!(mb->fs_state->fs->flags & EXT2_FLAG_RW))
		return EXT2_ET_RO_FILSYS;

	SCOPE_FREE uint8_t *buffer = malloc(geometry_block_bytes(&mb->geometry));
	if (!buffer)
		return ENOMEM;
	/*
	 * A group that cannot be written stays dirty. Where another caller has written a bitmap, its descriptor must
	 * follow, whatever happens next.
	 */
	errcode_t first_error = 0;
	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		errcode_t error = sync_group(mb, number, buffer);

		if (!first_error)
			first_error = error;
	}
	fs_state_write_totals(mb->fs_state);
	return first_error;
}

uint64_t sync_most_blocks(struct ext2mb *mb)
{
	uint64_t bitmaps = atomic_load_explicit(&mb->bitmaps_to_write, memory_order_relaxed);
	uint64_t descriptors = mb->fs_state->fs->desc_blocks;

	return bitmaps ? bitmaps + (bitmaps < descriptors ? bitmaps : descriptors) + 1 : 0;
}

errcode_t sync_all(struct ext2mb *mb)
{
	errcode_t discard_error = commit_frees(mb);

	if (discard_error == EXT2MB_ET_IN_DISCARD || discard_error == EXT2MB_ET_FORKED)
		return discard_error;
	/* This comes last, since the discard function may have allocated blocks. */
	preallocation_register_give_back(mb, &mb->closed_stats, NULL);
	errcode_t error = sync_groups(mb);

	return error ? error : discard_error;
}
