/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/freed.h"

#include "ext2fs/ext2mb_err.h"
#include "transaction/channel.h"
#include "transaction/commit.h"

/* More than any journal holds; further additions do not overflow. */
#define UNKNOWN_BLOCKS (UINT64_MAX / 2)

/* The journal's own blocks must stay in use: freeing one ends the transaction, as a write to it does. */
void freed_note(ext2_filsys fs, uint64_t start, uint64_t count, uint64_t counted)
{
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return;
	pthread_rwlock_wrlock(&state->lock);
	if (state->phase == TRANSACTION_OPEN && block_ranges_overlap(&state->layout.journal, start, count))
		(void)!channel_fail(state, EXT2MB_ET_JOURNAL_WRITE);
	/* Without memory to divide a run, all contents go through the journal. */
	if (block_ranges_remove(&state->data, start, count))
		block_ranges_clear(&state->data);
	if (state->freed_blocks < UNKNOWN_BLOCKS)
		state->freed_blocks += counted;
	pthread_rwlock_unlock(&state->lock);
}

static void note_unknown(ext2_filsys fs)
{
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return;
	pthread_rwlock_wrlock(&state->lock);
	block_ranges_clear(&state->data);
	state->freed_blocks = UNKNOWN_BLOCKS;
	pthread_rwlock_unlock(&state->lock);
}

/* With bigalloc a cluster is freed as a whole. */
void freed_hear_of_block(ext2_filsys fs, blk64_t block, int in_use)
{
	uint64_t count = (uint64_t)EXT2FS_CLUSTER_RATIO(fs);

	if (in_use < 0)
		freed_note(fs, block & ~(count - 1), count, count);
}

/* Before 1.47.4 libext2fs passes the end of the range, and a length of 0. libext2fs itself frees no ranges. */
void freed_hear_of_range(ext2_filsys fs, blk64_t start, blk_t count, int in_use)
{
	if (in_use < 0 && count)
		freed_note(fs, start, count, count);
	else if (in_use < 0)
		note_unknown(fs);
}

void freed_are_told_by(ext2_filsys fs, void (*block_hook)(ext2_filsys fs, blk64_t block, int in_use),
                       void (*range_hook)(ext2_filsys fs, blk64_t start, blk_t count, int in_use))
{
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return;
	state->block_hook = block_hook;
	state->range_hook = range_hook;
}

void freed_listen(ext2_filsys fs)
{
	if (!channel_state_of(fs->io) || fs->block_alloc_stats || fs->block_alloc_stats_range)
		return;
	ext2fs_set_block_alloc_stats_callback(fs, freed_hear_of_block, NULL);
	ext2fs_set_block_alloc_stats_range_callback(fs, freed_hear_of_range, NULL);
	freed_are_told_by(fs, freed_hear_of_block, freed_hear_of_range);
}
