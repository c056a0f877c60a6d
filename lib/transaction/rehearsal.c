/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/ext2mb.h"

#include "allocator/fs/fs_state.h"
#include "filesystem/fs_errors.h"
#include "transaction/channel.h"
#include "transaction/commit.h"

errcode_t ext2mb_transaction_rehearse(ext2_filsys fs)
{
	if (!fs)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	pthread_rwlock_wrlock(&state->lock);
	state->is_rehearsal = true;
	pthread_rwlock_unlock(&state->lock);
	return 0;
}

/* Blocks that were free at the last commit would not be in the log. */
static errcode_t count_used(struct channel_state *state, const struct commit_changes *changes, size_t *used)
{
	errcode_t error = 0;

	*used = 0;
	for (size_t index = 0; !error && index < changes->count; index++) {
		bool is_free = false;

		error = committed_bitmap_is_free(&state->committed, state->backing, changes->blocks[index]->block,
		                                 &is_free);
		*used += !is_free;
	}
	return error;
}

static errcode_t count_held(struct channel_state *state, uint64_t *blocks)
{
	struct commit_changes changes = { 0 };
	size_t used = 0;

	pthread_rwlock_wrlock(&state->lock);
	errcode_t error = channel_check_open(state);

	if (!error)
		error = commit_collect(state, &changes);
	if (!error)
		error = count_used(state, &changes, &used);
	if (!error)
		*blocks = state->layout.has_journal && used ? journal_transaction_blocks(&state->journal.format, used) :
		                                              used;
	pthread_rwlock_unlock(&state->lock);
	free(changes.blocks);
	return error;
}

errcode_t ext2mb_transaction_count(ext2_filsys fs, uint64_t *blocks)
{
	if (!fs || !blocks)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);

	*blocks = 0;
	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	errcode_t error = fs_state_sync_allocator(fs);

	if (!error)
		error = FS_ERROR_OF(ext2fs_flush(fs));
	return error ? error : count_held(state, blocks);
}
