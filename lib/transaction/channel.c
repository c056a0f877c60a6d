/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ext2fs/ext2mb.h"
#include "transaction/access.h"
#include "transaction/commit.h"
#include "transaction/start.h"

static errcode_t channel_close(io_channel channel);

struct channel_state *channel_state_of(io_channel channel)
{
	return channel->manager->close == channel_close ? channel->private_data : NULL;
}

errcode_t channel_check_open(const struct channel_state *state)
{
	if (state->phase == TRANSACTION_OPEN)
		return 0;
	return state->phase == TRANSACTION_OVER ? EXT2MB_ET_TRANSACTION_OVER : EXT2_ET_RO_FILSYS;
}

static void destroy(struct channel_state *state)
{
	committed_bitmap_destroy(&state->committed);
	held_blocks_clear(&state->held);
	block_ranges_clear(&state->discards);
	block_ranges_clear(&state->data);
	data_claims_destroy(&state->data_claims);
	layout_free(&state->layout);
	process_claim_close(&state->claim);
	pthread_rwlock_destroy(&state->lock);
	if (state->lock_descriptor >= 0)
		close(state->lock_descriptor);
	free(state->bounce);
	free(state->io_options);
	free(state->name);
	free(state);
}

static void destroy_channel(io_channel channel)
{
	destroy(channel->private_data);
	free(channel->name);
	free(channel);
}

/*
 * A thread that waits for the exclusive lock goes before threads that would share it. Otherwise threads that write
 * contents, one after the other, could lock out the one that changes metadata.
 */
static errcode_t init_locks(struct channel_state *state)
{
	pthread_rwlockattr_t attributes;

	if (pthread_rwlockattr_init(&attributes))
		return ENOMEM;
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	int error = pthread_rwlock_init(&state->lock, &attributes);

	pthread_rwlockattr_destroy(&attributes);
	if (!error && data_claims_init(&state->data_claims)) {
		pthread_rwlock_destroy(&state->lock);
		error = ENOMEM;
	}
	return error;
}

/* ext2fs_get_mem() uses malloc(3), so free(3) takes its memory. */
static errcode_t make_channel(const char *name, const struct channel_manager *manager, io_channel *ret)
{
	struct channel_state *state = calloc(1, sizeof(*state));
	io_channel channel = calloc(1, sizeof(*channel));

	if (!state || !channel || init_locks(state)) {
		free(state);
		free(channel);
		return ENOMEM;
	}
	state->manager = manager;
	state->channel = channel;
	state->lock_descriptor = -1;
	state->name = strdup(name);
	state->io_options = strdup("");
	*channel = (struct struct_io_channel){
		.magic = EXT2_ET_MAGIC_IO_CHANNEL,
		.manager = manager->functions,
		.name = strdup(name),
		.block_size = SUPERBLOCK_BYTES,
		.refcount = 1,
		.private_data = state,
	};
	errcode_t error = process_claim_open(&state->claim);

	if (error || !state->name || !state->io_options || !channel->name) {
		destroy_channel(channel);
		return error ? error : ENOMEM;
	}
	*ret = channel;
	return 0;
}

errcode_t channel_open(const char *name, int flags, const struct channel_manager *manager, io_channel *ret)
{
	io_channel channel;
	errcode_t error = make_channel(name, manager, &channel);

	if (error)
		return error;
	struct channel_state *state = channel->private_data;

	/* Threads may share the channel, and so the backing one. */
	state->open_flags = flags | IO_FLAG_THREADS;
	error = start_backing(state);
	if (error) {
		destroy_channel(channel);
		return error;
	}
	/* Discards wait for the commit, so discarded blocks do not read as zeros. */
	channel->flags = (state->backing->flags & ~CHANNEL_FLAGS_DISCARD_ZEROES) | CHANNEL_FLAGS_THREADS;
	channel->align = state->backing->align;
	*ret = channel;
	return 0;
}

/* Takes the exclusive lock, and starts the transaction at the first request. */
static errcode_t lock_alone(struct channel_state *state)
{
	pthread_rwlock_wrlock(&state->lock);
	if (state->phase != TRANSACTION_UNREAD)
		return 0;
	/* libext2fs has set app_data to the filesystem before it reads. */
	if (state->channel->app_data && state->manager->listen)
		state->manager->listen(state->channel->app_data);
	return start_transaction(state);
}

static errcode_t lock_for_reading(struct channel_state *state)
{
	pthread_rwlock_rdlock(&state->lock);
	if (state->phase != TRANSACTION_UNREAD)
		return 0;
	pthread_rwlock_unlock(&state->lock);
	errcode_t error = lock_alone(state);

	pthread_rwlock_unlock(&state->lock);
	pthread_rwlock_rdlock(&state->lock);
	return error;
}

/* Returns why the transaction is over; after a close that drops changes, why it did. */
static errcode_t over(const struct channel_state *state)
{
	return state->why_dropped ? state->why_dropped : EXT2MB_ET_TRANSACTION_OVER;
}

/* Records why closing commits nothing: the step has not ended, or claimed contents have not been written. */
static void drop_unfinished(struct channel_state *state)
{
	errcode_t why = state->is_in_step ? EXT2MB_ET_IN_STEP : EXT2MB_ET_CLAIMED;

	if (state->phase != TRANSACTION_OPEN || (!state->is_in_step && !data_claims_are_open(&state->data_claims)))
		return;
	state->why_dropped = channel_fail(state, why);
}

/* After the transaction is over nothing may be written, because libext2fs's memory is stale. */
static errcode_t lock_for_writing(struct channel_state *state)
{
	errcode_t error = lock_alone(state);

	if (error)
		return error;
	if (state->phase == TRANSACTION_PASSED)
		return state->open_flags & IO_FLAG_RW ? EXT2_ET_BAD_MAGIC : EXT2_ET_RO_FILSYS;
	if (state->phase == TRANSACTION_OVER)
		return over(state);
	return process_claim_acquire(&state->claim) ? 0 : EXT2MB_ET_FORKED;
}

static uint64_t bytes_of(io_channel channel, int count)
{
	return count < 0 ? (uint64_t) - (int64_t)count : (uint64_t)count * (uint64_t)channel->block_size;
}

static errcode_t channel_read(io_channel channel, unsigned long long block, int count, void *data)
{
	struct channel_state *state = channel->private_data;
	uint64_t offset = block * (uint64_t)channel->block_size;
	uint64_t bytes = bytes_of(channel, count);
	errcode_t error = lock_for_reading(state);

	if (!error && state->phase == TRANSACTION_PASSED) {
		state->backing->block_size = channel->block_size;
		error = io_channel_read_blk64(state->backing, block, count, data);
	} else if (!error) {
		error = access_read(state, offset, bytes, data);
	}
	pthread_rwlock_unlock(&state->lock);
	if (error && channel->read_error)
		error = channel->read_error(channel, (unsigned long)block, count, data, bytes, 0, error);
	return error;
}

static errcode_t channel_read_old(io_channel channel, unsigned long block, int count, void *data)
{
	return channel_read(channel, block, count, data);
}

/*
 * The MMP block is no part of a transaction. What it says is taken back when the filesystem is closed after a failure,
 * too: otherwise nobody could mount it before e2fsck has run.
 */
static bool is_within_mmp_block(const struct channel_state *state, uint64_t offset, uint64_t bytes)
{
	const struct layout *layout = &state->layout;
	uint64_t start = layout->mmp_block * layout->block_bytes;

	return layout->mmp_block && offset >= start && bytes <= layout->block_bytes &&
	       offset - start <= layout->block_bytes - bytes;
}

static errcode_t write_bytes(io_channel channel, uint64_t offset, uint64_t bytes, const void *data)
{
	struct channel_state *state = channel->private_data;
	errcode_t error = lock_for_writing(state);

	if (error && state->phase == TRANSACTION_OVER && is_within_mmp_block(state, offset, bytes)) {
		error = access_write(state, offset, bytes, data);
	} else if (!error) {
		error = access_write(state, offset, bytes, data);
		/* A step that lacks one of its writes must never be committed. */
		if (error)
			error = channel_fail(state, error);
	}
	pthread_rwlock_unlock(&state->lock);
	return error;
}

static errcode_t channel_write(io_channel channel, unsigned long long block, int count, const void *data)
{
	uint64_t bytes = bytes_of(channel, count);
	errcode_t error = write_bytes(channel, block * (uint64_t)channel->block_size, bytes, data);

	if (error && channel->write_error)
		error = channel->write_error(channel, (unsigned long)block, count, data, bytes, 0, error);
	return error;
}

static errcode_t channel_write_old(io_channel channel, unsigned long block, int count, const void *data)
{
	return channel_write(channel, block, count, data);
}

static errcode_t channel_write_byte(io_channel channel, unsigned long offset, int count, const void *data)
{
	return write_bytes(channel, offset, count < 0 ? 0 : (uint64_t)count, data);
}

static errcode_t channel_zeroout(io_channel channel, unsigned long long block, unsigned long long count)
{
	return write_bytes(channel, block * (uint64_t)channel->block_size, count * (uint64_t)channel->block_size, NULL);
}

/* Discards only whole blocks of the filesystem: a discard is a hint. */
static errcode_t channel_discard(io_channel channel, unsigned long long block, unsigned long long count)
{
	struct channel_state *state = channel->private_data;
	errcode_t error = lock_for_writing(state);

	if (!error) {
		uint32_t block_bytes = state->layout.block_bytes;
		uint64_t start = block * (uint64_t)channel->block_size;
		uint64_t first = (start + block_bytes - 1) / block_bytes;
		uint64_t end = (start + count * (uint64_t)channel->block_size) / block_bytes;

		if (end > state->layout.blocks)
			end = state->layout.blocks;
		if (first < end)
			error = block_ranges_add(&state->discards, first, end - first);
	}
	pthread_rwlock_unlock(&state->lock);
	return error;
}

/* Not a commit: ext2fs_flush2() flushes in the middle of an update. */
static errcode_t channel_flush(io_channel channel)
{
	struct channel_state *state = channel->private_data;

	pthread_rwlock_rdlock(&state->lock);
	errcode_t error = state->phase == TRANSACTION_OVER ? over(state) : 0;
	pthread_rwlock_unlock(&state->lock);
	return error;
}

static errcode_t channel_set_block_size(io_channel channel, int block_size)
{
	channel->block_size = block_size;
	return 0;
}

static errcode_t add_option(struct channel_state *state, const char *option, const char *value)
{
	char *options = NULL;

	if (asprintf(&options, "%s%s%s%s%s", state->io_options, *state->io_options ? "&" : "", option, value ? "=" : "",
	             value ? value : "") < 0)
		return ENOMEM;
	free(state->io_options);
	state->io_options = options;
	return 0;
}

/* The cache stays off. fuse2fs sets the cache's size once the filesystem is open, and ends if that fails, so the
 * option is accepted. */
static errcode_t channel_set_option(io_channel channel, const char *option, const char *value)
{
	struct channel_state *state = channel->private_data;
	io_manager backing = *state->manager->backing;
	errcode_t error = 0;

	if (!strcmp(option, "cache") || !strcmp(option, "cache_blocks"))
		return 0;
	pthread_rwlock_wrlock(&state->lock);
	if (state->phase != TRANSACTION_UNREAD || !backing->set_option)
		error = EXT2_ET_INVALID_ARGUMENT;
	if (!error)
		error = backing->set_option(state->backing, option, value);
	if (!error)
		error = add_option(state, option, value);
	pthread_rwlock_unlock(&state->lock);
	return error;
}

/*
 * In libext2fs only ext2fs_close2() calls this, before its last flush, and it flushes if anything has been written.
 * So held blocks count as written, even if nothing is left to flush: they will be committed. ext2fs_close2() ignores
 * the result of the channel's close. So if closing will drop an unfinished step, that flush fails.
 */
static errcode_t channel_get_stats(io_channel channel, io_stats *stats)
{
	struct channel_state *state = channel->private_data;
	io_manager backing = *state->manager->backing;

	if (!backing->get_stats)
		return EXT2_ET_OP_NOT_SUPPORTED;
	errcode_t error = backing->get_stats(state->backing, stats);

	/* Closing a copy of the handle leaves the step to the other copies. */
	if (error || !stats || channel->refcount > 1)
		return error;
	pthread_rwlock_wrlock(&state->lock);
	/* If another process has the claim, the flush fails. */
	if (state->phase == TRANSACTION_OPEN)
		(void)process_claim_acquire(&state->claim);
	drop_unfinished(state);
	if (state->why_dropped) {
		state->closing_stats = **stats;
		state->closing_stats.bytes_written++;
		*stats = &state->closing_stats;
	}
	pthread_rwlock_unlock(&state->lock);
	return 0;
}

static errcode_t channel_readahead(io_channel channel, unsigned long long block, unsigned long long count)
{
	(void)channel, (void)block, (void)count;
	return EXT2_ET_OP_NOT_SUPPORTED;
}

/* ext2fs_free() flushes nothing: held blocks then lack what libext2fs has only in memory. */
static bool is_half(const struct channel_state *state)
{
	ext2_filsys fs = channel_filesystem(state);

	return state->held.count && fs && fs->flags & TRANSACTION_UNWRITTEN;
}

/* Commits the changes of a program that does not know of transactions; a step that has not ended is not committed. */
static errcode_t end_transaction(struct channel_state *state)
{
	errcode_t error = 0;

	/* Journal and needs_recovery belong to the other process, or may, if neither has written since fork(). */
	if (state->phase >= TRANSACTION_OPEN && !process_claim_has(&state->claim))
		return EXT2MB_ET_FORKED;
	drop_unfinished(state);
	if (state->phase == TRANSACTION_OPEN && is_half(state))
		error = channel_fail(state, EXT2MB_ET_TRANSACTION_OVER);
	if (state->phase == TRANSACTION_OPEN) {
		error = commit_held(state);
		if (error)
			channel_fail(state, error);
	}
	if (state->phase == TRANSACTION_OPEN || state->phase == TRANSACTION_OVER) {
		errcode_t end_error = commit_end(state);

		error = error ? error : end_error;
	}
	return error;
}

errcode_t channel_finish(io_channel channel)
{
	struct channel_state *state = channel_state_of(channel);

	/* Another copy of the handle still uses it. */
	if (!state || channel->refcount > 1)
		return 0;
	pthread_rwlock_wrlock(&state->lock);
	errcode_t error = end_transaction(state);

	if (state->phase == TRANSACTION_OPEN)
		channel_fail(state, EXT2MB_ET_TRANSACTION_OVER);
	pthread_rwlock_unlock(&state->lock);
	return error;
}

static errcode_t channel_close(io_channel channel)
{
	struct channel_state *state = channel->private_data;

	if (--channel->refcount > 0) {
		state->has_lost_copy = true;
		return 0;
	}
	errcode_t error = end_transaction(state);
	errcode_t close_error = io_channel_close(state->backing);

	destroy_channel(channel);
	return error ? error : close_error;
}

struct struct_io_manager channel_functions(errcode_t (*open)(const char *name, int flags, io_channel *channel))
{
	return (struct struct_io_manager){
		.magic = EXT2_ET_MAGIC_IO_MANAGER,
		.name = "ext2mb transaction",
		.open = open,
		.close = channel_close,
		.set_blksize = channel_set_block_size,
		.read_blk = channel_read_old,
		.write_blk = channel_write_old,
		.flush = channel_flush,
		.write_byte = channel_write_byte,
		.set_option = channel_set_option,
		.get_stats = channel_get_stats,
		.read_blk64 = channel_read,
		.write_blk64 = channel_write,
		.discard = channel_discard,
		.cache_readahead = channel_readahead,
		.zeroout = channel_zeroout,
	};
}
