/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/channel_state.h"

#include <errno.h>

#include "ext2fs/messages.h"
#include "ext2fs/sized_struct.h"
#include "ext2fs/ext2mb.h"
#include "allocator/fs/fs_state.h"
#include "transaction/channel.h"
#include "transaction/commit.h"
#include "transaction/freed.h"

static errcode_t open_journalled(const char *name, int flags, io_channel *channel);
static errcode_t open_without_journal(const char *name, int flags, io_channel *channel);

static struct struct_io_manager journalled_functions, functions_without_journal;
static pthread_once_t functions_once = PTHREAD_ONCE_INIT;

static const struct channel_manager journalled = { &journalled_functions, &unix_io_manager, 0, freed_listen };
static const struct channel_manager without_journal = { &functions_without_journal, &unix_io_manager, EXT2MB_NO_JOURNAL,
	                                                freed_listen };

static errcode_t open_journalled(const char *name, int flags, io_channel *channel)
{
	return channel_open(name, flags, &journalled, channel);
}

static errcode_t open_without_journal(const char *name, int flags, io_channel *channel)
{
	return channel_open(name, flags, &without_journal, channel);
}

static void make_functions(void)
{
	journalled_functions = channel_functions(open_journalled);
	functions_without_journal = channel_functions(open_without_journal);
}

io_manager ext2mb_transaction_io_manager(uint64_t flags)
{
	messages_register();
	pthread_once(&functions_once, make_functions);
	if (flags & ~(uint64_t)EXT2MB_NO_JOURNAL)
		return NULL;
	return flags ? without_journal.functions : journalled.functions;
}

/* Finds the filesystem's transaction and takes its lock, unless there is an error. */
static errcode_t lock_open(ext2_filsys fs, struct channel_state **ret)
{
	if (!fs)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	pthread_rwlock_wrlock(&state->lock);
	*ret = state;
	errcode_t error = channel_check_open(state);

	if (error)
		pthread_rwlock_unlock(&state->lock);
	return error;
}

/* The same, and claims it for this process. */
static errcode_t lock(ext2_filsys fs, struct channel_state **ret)
{
	errcode_t error = lock_open(fs, ret);

	if (error || process_claim_acquire(&(*ret)->claim))
		return error;
	pthread_rwlock_unlock(&(*ret)->lock);
	return EXT2MB_ET_FORKED;
}

/*
 * Writes what libext2fs has in memory into the transaction. If the superblock has another descriptor size, or more
 * groups, libext2fs would read beyond its memory.
 */
static errcode_t flush(ext2_filsys fs)
{
	const struct channel_state *state = channel_state_of(fs->io);
	struct ext2_super_block super = *fs->super;

	if (!(fs->flags & TRANSACTION_UNWRITTEN))
		return 0;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	ext2fs_swap_super(&super);
#endif
	errcode_t error = state ? superblock_may_become(state->super, (const uint8_t *)&super) : 0;

	return error ? error : ext2fs_flush(fs);
}

/* Syncs the allocator's bitmaps first: without them a commit would leave files whose blocks are free. */
static errcode_t commit(ext2_filsys fs)
{
	struct channel_state *state;
	errcode_t flush_error = fs_state_sync_allocator(fs);

	/* The call came from the allocator's discard function. */
	if (flush_error == EXT2MB_ET_IN_DISCARD)
		return flush_error;
	if (!flush_error)
		flush_error = flush(fs);
	errcode_t error = lock(fs, &state);

	if (error)
		return flush_error ? flush_error : error;
	if (!flush_error && data_claims_are_open(&state->data_claims)) {
		pthread_rwlock_unlock(&state->lock);
		return EXT2MB_ET_CLAIMED;
	}
	state->now = fs->now;
	error = flush_error ? flush_error : commit_held(state);
	if (error)
		channel_fail(state, error);
	state->is_in_step = false;
	pthread_rwlock_unlock(&state->lock);
	return error;
}

/*
 * Whether to commit before a step: held blocks, what the allocator will write, and freed blocks that the step may
 * write, would fill half of the journal; or frees have not been reported.
 */
static bool is_due(ext2_filsys fs, const struct channel_state *state)
{
	if (!state->layout.has_journal)
		return false;
	if (!channel_hears_frees(state, fs))
		return state->held.count || fs->flags & TRANSACTION_UNWRITTEN;
	return commit_log_blocks(state) + state->freed_blocks + fs_state_sync_blocks(fs) >
	       journal_room(&state->journal) / 2;
}

errcode_t ext2mb_transaction_begin(ext2_filsys fs)
{
	struct channel_state *state;
	errcode_t error = lock(fs, &state);

	if (error)
		return error;
	bool is_in_step = state->is_in_step;
	bool must_commit = is_due(fs, state);
	pthread_rwlock_unlock(&state->lock);
	if (is_in_step)
		return EXT2MB_ET_IN_STEP;
	freed_listen(fs);
	error = must_commit ? commit(fs) : 0;
	if (!error)
		error = lock(fs, &state);
	if (error)
		return error;
	state->is_in_step = true;
	pthread_rwlock_unlock(&state->lock);
	return 0;
}

errcode_t ext2mb_transaction_end(ext2_filsys fs)
{
	struct channel_state *state;
	errcode_t error = lock(fs, &state);

	if (error)
		return error;
	bool is_in_step = state->is_in_step;
	state->is_in_step = false;
	pthread_rwlock_unlock(&state->lock);
	return is_in_step ? 0 : EXT2MB_ET_BAD_ARGUMENT;
}

errcode_t ext2mb_transaction_commit(ext2_filsys fs)
{
	struct channel_state *state;
	errcode_t error = lock(fs, &state);

	if (error)
		return error;
	pthread_rwlock_unlock(&state->lock);
	return commit(fs);
}

errcode_t ext2mb_transaction_abort(ext2_filsys fs)
{
	struct channel_state *state;
	errcode_t error = lock_open(fs, &state);

	if (error)
		return error;
	channel_fail(state, EXT2MB_ET_TRANSACTION_OVER);
	pthread_rwlock_unlock(&state->lock);
	return 0;
}

errcode_t ext2mb_transaction_name_data(ext2_filsys fs, uint64_t start, uint64_t count)
{
	struct channel_state *state;
	errcode_t error = lock(fs, &state);

	if (error)
		return error;
	freed_listen(fs);
	if (!channel_hears_frees(state, fs))
		error = EXT2MB_ET_HOOKS_TAKEN;
	else if (start >= state->layout.blocks || count > state->layout.blocks - start)
		error = EXT2MB_ET_BAD_RANGE;
	else
		error = block_ranges_add(&state->data, start, count);
	pthread_rwlock_unlock(&state->lock);
	return error;
}

#define INFO_LEAST SIZED_STRUCT_LEAST(struct ext2mb_transaction_info, unchanged_blocks)
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_transaction_info, unchanged_blocks);

errcode_t ext2mb_transaction_read_info(ext2_filsys fs, struct ext2mb_transaction_info *info)
{
	if (!fs || !info)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);
	errcode_t error = sized_struct_is_writable(info, INFO_LEAST);

	if (!state || error)
		return error ? error : EXT2MB_ET_NO_TRANSACTION;
	pthread_rwlock_rdlock(&state->lock);
	bool has_journal = state->layout.has_journal;
	const struct ext2mb_transaction_info ours = {
		.why_over = state->phase == TRANSACTION_OVER ? state->why_over : 0,
		.journal_blocks = has_journal ? journal_room(&state->journal) : 0,
		.next_sequence = has_journal ? state->journal.sequence : 0,
		.held_blocks = state->held.count,
		.log_blocks = commit_log_blocks(state),
		.commits = state->counts.commits,
		.direct_blocks = state->counts.direct_blocks + data_claims_blocks(&state->data_claims),
		.logged_blocks = state->counts.logged_blocks,
		.unchanged_blocks = state->counts.unchanged_blocks,
	};
	pthread_rwlock_unlock(&state->lock);
	sized_struct_write(info, &ours, sizeof(ours));
	return 0;
}
