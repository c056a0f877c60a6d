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

struct transaction *channel_transaction(io_channel channel)
{
	return channel->manager->close == channel_close ? channel->private_data : NULL;
}

static void destroy(struct transaction *transaction)
{
	committed_bitmap_destroy(&transaction->committed);
	held_blocks_clear(&transaction->held);
	block_ranges_clear(&transaction->discards);
	block_ranges_clear(&transaction->data);
	layout_free(&transaction->layout);
	process_claim_close(&transaction->claim);
	pthread_rwlock_destroy(&transaction->lock);
	if (transaction->lock_descriptor >= 0)
		close(transaction->lock_descriptor);
	free(transaction->bounce);
	free(transaction->io_options);
	free(transaction->name);
	free(transaction);
}

static void destroy_channel(io_channel channel)
{
	destroy(channel->private_data);
	free(channel->name);
	free(channel);
}

/* What ext2fs_get_mem() gives is malloc(3)'s. */
static errcode_t make_channel(const char *name, const struct transaction_manager *manager, io_channel *ret)
{
	struct transaction *transaction = calloc(1, sizeof(*transaction));
	io_channel channel = calloc(1, sizeof(*channel));

	if (!transaction || !channel || pthread_rwlock_init(&transaction->lock, NULL)) {
		free(transaction);
		free(channel);
		return ENOMEM;
	}
	transaction->manager = manager;
	transaction->channel = channel;
	transaction->lock_descriptor = -1;
	transaction->name = strdup(name);
	transaction->io_options = strdup("");
	*channel = (struct struct_io_channel){
		.magic = EXT2_ET_MAGIC_IO_CHANNEL,
		.manager = manager->functions,
		.name = strdup(name),
		.block_size = SUPERBLOCK_BYTES,
		.refcount = 1,
		.private_data = transaction,
	};
	errcode_t error = process_claim_open(&transaction->claim);

	if (error || !transaction->name || !transaction->io_options || !channel->name) {
		destroy_channel(channel);
		return error ? error : ENOMEM;
	}
	*ret = channel;
	return 0;
}

errcode_t channel_open(const char *name, int flags, const struct transaction_manager *manager, io_channel *ret)
{
	io_channel channel;
	errcode_t error = make_channel(name, manager, &channel);

	if (error)
		return error;
	struct transaction *transaction = channel->private_data;

	/* Threads may share it, and so what is below. */
	transaction->open_flags = flags | IO_FLAG_THREADS;
	error = start_backing(transaction);
	if (error) {
		destroy_channel(channel);
		return error;
	}
	/* Discards wait, so what is discarded does not read as zeros. */
	channel->flags = (transaction->backing->flags & ~CHANNEL_FLAGS_DISCARD_ZEROES) | CHANNEL_FLAGS_THREADS;
	channel->align = transaction->backing->align;
	*ret = channel;
	return 0;
}

/* Starts it if this is the first request, with the lock for writing. */
static errcode_t lock_alone(struct transaction *transaction)
{
	pthread_rwlock_wrlock(&transaction->lock);
	if (!transaction->backing)
		return EIO;
	if (transaction->state != TRANSACTION_UNREAD)
		return 0;
	/* The filesystem is told to its channel by libext2fs, which reads only then. */
	if (transaction->channel->app_data && transaction->manager->listen)
		transaction->manager->listen(transaction->channel->app_data);
	return start_transaction(transaction);
}

static errcode_t lock_for_reading(struct transaction *transaction)
{
	pthread_rwlock_rdlock(&transaction->lock);
	if (transaction->state != TRANSACTION_UNREAD)
		return 0;
	pthread_rwlock_unlock(&transaction->lock);
	errcode_t error = lock_alone(transaction);

	pthread_rwlock_unlock(&transaction->lock);
	pthread_rwlock_rdlock(&transaction->lock);
	return error;
}

/* A close that drops a step is told so. */
static errcode_t over(const struct transaction *transaction)
{
	return transaction->why_over == EXT2MB_ET_IN_STEP ? EXT2MB_ET_IN_STEP : EXT2MB_ET_TRANSACTION_OVER;
}

/* What may be written: the handle of one that is over writes nothing, because libext2fs's memory is stale. */
static errcode_t lock_for_writing(struct transaction *transaction)
{
	errcode_t error = lock_alone(transaction);

	if (error)
		return error;
	if (transaction->state == TRANSACTION_PASSED)
		return transaction->open_flags & IO_FLAG_RW ? EXT2_ET_BAD_MAGIC : EXT2_ET_RO_FILSYS;
	if (transaction->state == TRANSACTION_OVER)
		return over(transaction);
	return process_claim_take(&transaction->claim) ? 0 : EXT2MB_ET_FORKED;
}

static uint64_t bytes_of(io_channel channel, int count)
{
	return count < 0 ? (uint64_t) - (int64_t)count : (uint64_t)count * (uint64_t)channel->block_size;
}

static errcode_t channel_read(io_channel channel, unsigned long long block, int count, void *data)
{
	struct transaction *transaction = channel->private_data;
	uint64_t offset = block * (uint64_t)channel->block_size;
	uint64_t bytes = bytes_of(channel, count);
	errcode_t error = lock_for_reading(transaction);

	if (!error && transaction->state == TRANSACTION_PASSED) {
		transaction->backing->block_size = channel->block_size;
		error = io_channel_read_blk64(transaction->backing, block, count, data);
	} else if (!error) {
		error = access_read(transaction, offset, bytes, data);
	}
	pthread_rwlock_unlock(&transaction->lock);
	if (error && channel->read_error)
		error = channel->read_error(channel, (unsigned long)block, count, data, bytes, 0, error);
	return error;
}

static errcode_t channel_read_old(io_channel channel, unsigned long block, int count, void *data)
{
	return channel_read(channel, block, count, data);
}

static errcode_t write_bytes(io_channel channel, uint64_t offset, uint64_t bytes, const void *data)
{
	struct transaction *transaction = channel->private_data;
	errcode_t error = lock_for_writing(transaction);

	if (!error) {
		error = access_write(transaction, offset, bytes, data);
		/* A step without one of its writes must never be committed. */
		if (error)
			error = transaction_fail(transaction, error);
	}
	pthread_rwlock_unlock(&transaction->lock);
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

/* Whole blocks of the filesystem only: a discard is a hint. */
static errcode_t channel_discard(io_channel channel, unsigned long long block, unsigned long long count)
{
	struct transaction *transaction = channel->private_data;
	errcode_t error = lock_for_writing(transaction);

	if (!error) {
		uint32_t block_bytes = transaction->layout.block_bytes;
		uint64_t start = block * (uint64_t)channel->block_size;
		uint64_t first = (start + block_bytes - 1) / block_bytes;
		uint64_t end = (start + count * (uint64_t)channel->block_size) / block_bytes;

		if (end > transaction->layout.blocks)
			end = transaction->layout.blocks;
		if (first < end)
			error = block_ranges_add(&transaction->discards, first, end - first);
	}
	pthread_rwlock_unlock(&transaction->lock);
	return error;
}

/* Not a commit: ext2fs_flush2() flushes in the middle of an update. */
static errcode_t channel_flush(io_channel channel)
{
	struct transaction *transaction = channel->private_data;

	pthread_rwlock_rdlock(&transaction->lock);
	errcode_t error = transaction->state == TRANSACTION_OVER ? over(transaction) : 0;
	pthread_rwlock_unlock(&transaction->lock);
	return error;
}

static errcode_t channel_set_block_size(io_channel channel, int block_size)
{
	channel->block_size = block_size;
	return 0;
}

static errcode_t add_option(struct transaction *transaction, const char *option, const char *value)
{
	char *options = NULL;

	if (asprintf(&options, "%s%s%s%s%s", transaction->io_options, *transaction->io_options ? "&" : "", option,
	             value ? "=" : "", value ? value : "") < 0)
		return ENOMEM;
	free(transaction->io_options);
	transaction->io_options = options;
	return 0;
}

/* The cache stays off; fuse2fs says how large it should be once the filesystem is open, and ends if it may not. */
static errcode_t channel_set_option(io_channel channel, const char *option, const char *value)
{
	struct transaction *transaction = channel->private_data;
	io_manager backing = *transaction->manager->backing;
	errcode_t error = 0;

	if (!strcmp(option, "cache") || !strcmp(option, "cache_blocks"))
		return 0;
	pthread_rwlock_wrlock(&transaction->lock);
	if (transaction->state != TRANSACTION_UNREAD || !transaction->backing || !backing->set_option)
		error = EXT2_ET_INVALID_ARGUMENT;
	if (!error)
		error = backing->set_option(transaction->backing, option, value);
	if (!error)
		error = add_option(transaction, option, value);
	pthread_rwlock_unlock(&transaction->lock);
	return error;
}

/*
 * Of libext2fs's functions ext2fs_close2() alone asks, before its last flush, and it flushes if anything has been
 * written. So it counts as writing, also where nothing is left to flush: what is held is committed. What the channel's
 * close returns it tells nobody: so a step that is open, which closing drops, fails that flush.
 */
static errcode_t channel_get_stats(io_channel channel, io_stats *stats)
{
	struct transaction *transaction = channel->private_data;
	io_manager backing = *transaction->manager->backing;

	if (!transaction->backing || !backing->get_stats)
		return EXT2_ET_OP_NOT_SUPPORTED;
	errcode_t error = backing->get_stats(transaction->backing, stats);

	/* A copy of the handle, which is closed, leaves the step to the others. */
	if (error || !stats || channel->refcount > 1)
		return error;
	pthread_rwlock_wrlock(&transaction->lock);
	/* To another process that has it the flush is refused. */
	if (transaction->state == TRANSACTION_OPEN)
		(void)process_claim_take(&transaction->claim);
	if (transaction->state == TRANSACTION_OPEN && transaction->is_in_step) {
		transaction_fail(transaction, EXT2MB_ET_IN_STEP);
		transaction->closing_stats = **stats;
		transaction->closing_stats.bytes_written++;
		*stats = &transaction->closing_stats;
	}
	pthread_rwlock_unlock(&transaction->lock);
	return 0;
}

static errcode_t channel_readahead(io_channel channel, unsigned long long block, unsigned long long count)
{
	(void)channel, (void)block, (void)count;
	return EXT2_ET_OP_NOT_SUPPORTED;
}

/* ext2fs_free() flushes nothing: what is held then lacks what libext2fs has in memory alone. */
static bool is_half(const struct transaction *transaction)
{
	ext2_filsys fs = transaction_filesystem(transaction);

	return transaction->held.count && fs && fs->flags & TRANSACTION_UNWRITTEN;
}

/* What a program that knows of no transactions leaves is one; a step that has not ended is not committed. */
static errcode_t end_transaction(struct transaction *transaction)
{
	errcode_t error = 0;

	/* The journal is the other process's, and needs_recovery too, or it may become so: neither has written yet. */
	if (transaction->state >= TRANSACTION_OPEN && !process_claim_has(&transaction->claim))
		return EXT2MB_ET_FORKED;
	if (transaction->state == TRANSACTION_OPEN && transaction->is_in_step)
		transaction_fail(transaction, EXT2MB_ET_IN_STEP);
	if (transaction->state == TRANSACTION_OPEN && is_half(transaction))
		error = transaction_fail(transaction, EXT2MB_ET_TRANSACTION_OVER);
	if (transaction->state == TRANSACTION_OPEN) {
		error = commit_held(transaction);
		if (error)
			transaction_fail(transaction, error);
	}
	if (transaction->state == TRANSACTION_OPEN || transaction->state == TRANSACTION_OVER) {
		errcode_t end_error = commit_end(transaction);

		error = error ? error : end_error;
	}
	return error;
}

errcode_t channel_finish(io_channel channel)
{
	struct transaction *transaction = channel_transaction(channel);

	/* A copy of the handle goes on with it. */
	if (!transaction || channel->refcount > 1)
		return 0;
	pthread_rwlock_wrlock(&transaction->lock);
	errcode_t error = transaction->backing ? end_transaction(transaction) : 0;

	if (transaction->state == TRANSACTION_OPEN)
		transaction_fail(transaction, EXT2MB_ET_TRANSACTION_OVER);
	pthread_rwlock_unlock(&transaction->lock);
	return error;
}

static errcode_t channel_close(io_channel channel)
{
	struct transaction *transaction = channel->private_data;
	errcode_t error = 0, close_error = 0;

	if (--channel->refcount > 0) {
		transaction->has_lost_copy = true;
		return 0;
	}
	if (transaction->backing) {
		error = end_transaction(transaction);
		close_error = io_channel_close(transaction->backing);
	}
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
