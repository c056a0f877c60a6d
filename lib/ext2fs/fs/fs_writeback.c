/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "ext2fs/core/bits.h"
#include "ext2fs/fs/fs_state.h"

/* Checksums are computed here and nowhere else: 2.1 us for 4 KiB would be most of an allocation's time. */

static errcode_t write_block_bitmap(struct fs_state *state, uint32_t group, const uint64_t *bitmap, uint8_t *buffer)
{
	const struct geometry *geometry = &state->geometry;
	ext2_filsys fs = state->fs;
	size_t bytes = geometry->clusters_per_group / 8;

	memset(buffer, 0xff, geometry_block_bytes(geometry));
	bits_to_disk(buffer, bitmap, bytes);
	errcode_t error = io_channel_write_blk64(fs->io, ext2fs_block_bitmap_loc(fs, group), 1, buffer);
	if (error)
		return error;
	error = ext2fs_block_bitmap_csum_set(fs, group, (char *)buffer, (int)bytes);
	if (error)
		return error;
	if (!fs->block_map)
		return 0;
	uint64_t first =
		geometry_to_clusters(geometry, geometry->first_block) + (uint64_t)group * geometry->clusters_per_group;
	return ext2fs_set_block_bitmap_range2(fs->block_map, first, geometry_group_clusters(geometry, group), buffer);
}

static errcode_t write_inode_bitmap(struct fs_state *state, uint32_t group, const uint64_t *bitmap, uint8_t *buffer)
{
	ext2_filsys fs = state->fs;
	uint32_t inodes = state->geometry.inodes_per_group;

	memset(buffer, 0xff, geometry_block_bytes(&state->geometry));
	bits_to_disk(buffer, bitmap, inodes / 8);
	errcode_t error = io_channel_write_blk64(fs->io, ext2fs_inode_bitmap_loc(fs, group), 1, buffer);
	if (error)
		return error;
	error = ext2fs_inode_bitmap_csum_set(fs, group, (char *)buffer, (int)(inodes / 8));
	if (error)
		return error;
	if (!fs->inode_map)
		return 0;
	return ext2fs_set_inode_bitmap_range2(fs->inode_map, 1 + (uint64_t)group * inodes, inodes, buffer);
}

errcode_t fs_state_write_group(struct fs_state *state, uint32_t group, const struct group_writeback *writeback,
                               uint8_t *buffer)
{
	ext2_filsys fs = state->fs;

	if (writeback->block_bitmap) {
		errcode_t error = write_block_bitmap(state, group, writeback->block_bitmap, buffer);
		if (error)
			return error;
		ext2fs_bg_free_blocks_count_set(fs, group, writeback->free_clusters);
		ext2fs_bg_flags_clear(fs, group, EXT2_BG_BLOCK_UNINIT);
	}
	if (writeback->inode_bitmap) {
		errcode_t error = write_inode_bitmap(state, group, writeback->inode_bitmap, buffer);
		if (error)
			return error;
		ext2fs_bg_free_inodes_count_set(fs, group, writeback->free_inodes);
		ext2fs_bg_used_dirs_count_set(fs, group, writeback->directories);
		if (state->has_descriptor_checksums)
			ext2fs_bg_itable_unused_set(fs, group, writeback->unused_inodes);
		ext2fs_bg_flags_clear(fs, group, EXT2_BG_INODE_UNINIT);
	}
	ext2fs_group_desc_csum_set(fs, group);
	return 0;
}

void fs_state_write_totals(struct fs_state *state)
{
	ext2_filsys fs = state->fs;
	uint64_t free_clusters = 0;
	uint64_t free_inodes = 0;

	for (uint32_t group = 0; group < state->geometry.groups; group++) {
		free_clusters += ext2fs_bg_free_blocks_count(fs, group);
		free_inodes += ext2fs_bg_free_inodes_count(fs, group);
	}
	ext2fs_free_blocks_count_set(fs->super, geometry_to_blocks(&state->geometry, free_clusters));
	fs->super->s_free_inodes_count = (uint32_t)free_inodes;
	fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
	ext2fs_mark_super_dirty(fs);
}
