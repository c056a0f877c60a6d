/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/undo.h"

#include <string.h>

#include "ext2fs/ext2mb_err.h"
#include "transaction/channel.h"
#include "transaction/commit.h"

/* Is it our own refusal, and not an error of the disk? */
static bool is_refusal(errcode_t error)
{
	return error == EXT2MB_ET_JOURNAL_WRITE || error == EXT2MB_ET_LAYOUT_CHANGE || error == EXT2MB_ET_BAD_RANGE ||
	       error == EXT2MB_ET_TRANSACTION_SIZE || error == EXT2MB_ET_CLAIMED;
}

/* libext2fs keeps a copy of the superblock on disk, and writes only the differences. */
static void read_superblock(ext2_filsys fs, const struct channel_state *state)
{
	memcpy(fs->super, state->super, SUPERBLOCK_BYTES);
	if (fs->orig_super)
		memcpy(fs->orig_super, state->super, SUPERBLOCK_BYTES);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	ext2fs_swap_super(fs->super);
#endif
	ext2fs_init_csum_seed(fs);
}

static errcode_t read_descriptors(ext2_filsys fs, const struct layout *layout)
{
	uint8_t *to = (uint8_t *)fs->group_desc;
	errcode_t error = 0;

	for (uint32_t index = 0; index < layout->descriptor_count && !error; index++)
		error = io_channel_read_blk64(fs->io, layout->descriptor_blocks[index], 1,
		                              to + (size_t)index * layout->block_bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (dgrp_t group = 0; group < fs->group_desc_count && !error; group++)
		ext2fs_swap_group_desc2(fs, ext2fs_group_desc(fs, fs->group_desc, group));
#endif
	return error;
}

static errcode_t read_maps(ext2_filsys fs)
{
	bool has_blocks = fs->block_map, has_inodes = fs->inode_map;

	ext2fs_free_block_bitmap(fs->block_map);
	ext2fs_free_inode_bitmap(fs->inode_map);
	fs->block_map = NULL;
	fs->inode_map = NULL;
	errcode_t error = has_blocks ? ext2fs_read_block_bitmap(fs) : 0;

	return error || !has_inodes ? error : ext2fs_read_inode_bitmap(fs);
}

static errcode_t read_all(ext2_filsys fs, const struct channel_state *state)
{
	fs->flags &= ~(EXT2_FLAG_DIRTY | EXT2_FLAG_BB_DIRTY | EXT2_FLAG_IB_DIRTY);
	read_superblock(fs, state);
	errcode_t error = io_channel_set_blksize(fs->io, (int)state->layout.block_bytes);

	if (!error)
		error = read_descriptors(fs, &state->layout);
	if (!error)
		error = ext2fs_flush_icache(fs);
	return error ? error : read_maps(fs);
}

errcode_t transaction_undo(ext2_filsys fs)
{
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	pthread_rwlock_wrlock(&state->lock);
	errcode_t error = state->phase != TRANSACTION_OVER                   ? EXT2MB_ET_BAD_ARGUMENT :
	                  state->is_in_doubt || !is_refusal(state->why_over) ? EXT2MB_ET_TRANSACTION_OVER :
	                                                                       0;

	if (!error) {
		state->phase = TRANSACTION_OPEN;
		state->is_in_step = false;
		state->freed_blocks = 0;
	}
	pthread_rwlock_unlock(&state->lock);
	if (error)
		return error;
	error = read_all(fs, state);
	if (!error)
		return 0;
	pthread_rwlock_wrlock(&state->lock);
	channel_fail(state, error);
	pthread_rwlock_unlock(&state->lock);
	return error;
}
