/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contents of blocks that were free at the last commit, written by any number of threads at the same time. */
#include <errno.h>
#include <string.h>

#include "ext2fs/ext2mb.h"
#include "transaction/channel.h"
#include "transaction/commit.h"

#define MOST_BYTES (64 << 20) /* per call of the backing channel, which counts with an int */
#define ALIGNED_BYTES (1 << 20)

/*
 * Whether each write needs the channel exclusively. libext2fs 1.47 writes with pwrite(2), unless O_DIRECT is used and
 * something is not aligned: then it seeks, reads whole sectors, which may have other blocks, and writes them.
 */
static bool writes_alone(const struct channel_state *state)
{
	uint32_t align = (uint32_t)state->backing->align;

	if (!(state->backing->flags & CHANNEL_FLAGS_THREADS))
		return true;
	return align && (state->layout.block_bytes % align || strstr(state->io_options, "offset="));
}

/* Needs the lock. The journal's blocks and the MMP block are never free, whatever the bitmap says. */
static errcode_t check_range(struct channel_state *state, uint64_t start, uint64_t count)
{
	const struct layout *layout = &state->layout;
	errcode_t error = channel_check_open(state);

	if (error)
		return error;
	if (!process_claim_acquire(&state->claim))
		return EXT2MB_ET_FORKED;
	if (start >= layout->blocks || count > layout->blocks - start)
		return EXT2MB_ET_BAD_RANGE;
	if (start < layout->first_block || block_ranges_overlap(&layout->journal, start, count))
		return EXT2MB_ET_NOT_FREE;
	return layout->mmp_block >= start && layout->mmp_block - start < count ? EXT2MB_ET_NOT_FREE : 0;
}

/* Whether the shared lock is enough: nothing has to be read or changed. */
static bool is_prepared(const struct channel_state *state, uint64_t start, uint64_t count)
{
	return committed_bitmap_has_read(&state->committed, start, count) &&
	       !block_ranges_overlap(&state->discards, start, count);
}

/* Needs the exclusive lock. */
static errcode_t prepare(struct channel_state *state, uint64_t start, uint64_t count)
{
	errcode_t error = committed_bitmap_read(&state->committed, state->backing, start, count);

	return error ? error : block_ranges_remove(&state->discards, start, count);
}

static errcode_t check_free(const struct channel_state *state, uint64_t start, uint64_t count)
{
	if (!committed_bitmap_are_free(&state->committed, start, count))
		return EXT2MB_ET_NOT_FREE;
	for (uint64_t index = 0; state->held.count && index < count; index++)
		if (held_blocks_find(&state->held, start + index))
			return EXT2MB_ET_NOT_FREE;
	return 0;
}

/* Takes the lock, shared if that is enough, if these blocks may be written. Without an error the caller has it. */
static errcode_t lock_free_blocks(struct channel_state *state, uint64_t start, uint64_t count, bool is_alone)
{
	if (is_alone)
		pthread_rwlock_wrlock(&state->lock);
	else
		pthread_rwlock_rdlock(&state->lock);
	errcode_t error = check_range(state, start, count);

	if (!error && !is_alone && !is_prepared(state, start, count)) {
		pthread_rwlock_unlock(&state->lock);
		return lock_free_blocks(state, start, count, true);
	}
	if (!error && is_alone)
		error = prepare(state, start, count);
	if (!error)
		error = check_free(state, start, count);
	if (error)
		pthread_rwlock_unlock(&state->lock);
	return error;
}

static errcode_t write_blocks(struct channel_state *state, uint64_t start, uint64_t count, const uint8_t *data)
{
	const uint32_t block_bytes = state->layout.block_bytes;
	errcode_t error = 0;

	while (count && !error) {
		uint64_t part = count < MOST_BYTES / block_bytes ? count : MOST_BYTES / block_bytes;

		error = io_channel_write_blk64(state->backing, start, (int)part, data);
		start += part;
		count -= part;
		data += part * block_bytes;
	}
	return error;
}

/*
 * O_DIRECT wants aligned memory. libext2fs copies single blocks into a buffer that threads take in turns, so we copy
 * by ourselves. *copy is NULL, or memory for write_aligned() that the caller frees.
 */
static errcode_t make_copy(const struct channel_state *state, const void *data, uint8_t **copy)
{
	uintptr_t align = (uintptr_t)state->backing->align;

	*copy = NULL;
	if (!align || (uintptr_t)data % align == 0)
		return 0;
	return posix_memalign((void **)copy, align > 4096 ? align : 4096, ALIGNED_BYTES) ? ENOMEM : 0;
}

static errcode_t write_aligned(struct channel_state *state, uint64_t start, uint64_t count, const uint8_t *data,
                               uint8_t *copy)
{
	const uint32_t block_bytes = state->layout.block_bytes;
	errcode_t error = 0;

	if (!copy)
		return write_blocks(state, start, count, data);
	while (count && !error) {
		uint64_t part = count < ALIGNED_BYTES / block_bytes ? count : ALIGNED_BYTES / block_bytes;

		memcpy(copy, data, part * block_bytes);
		error = write_blocks(state, start, part, copy);
		start += part;
		count -= part;
		data += part * block_bytes;
	}
	return error;
}

/* Ends the transaction, as any failed write does: metadata that refers to these blocks must never be committed. */
static errcode_t fail(struct channel_state *state, errcode_t error)
{
	pthread_rwlock_wrlock(&state->lock);
	channel_fail(state, error);
	pthread_rwlock_unlock(&state->lock);
	return error;
}

static errcode_t write_with_lock(struct channel_state *state, uint64_t start, uint64_t count, const void *data)
{
	errcode_t error = lock_free_blocks(state, start, count, true);

	if (error)
		return error;
	state->has_unflushed = true;
	state->counts.direct_blocks += count;
	error = write_blocks(state, start, count, data);
	if (error)
		channel_fail(state, error);
	pthread_rwlock_unlock(&state->lock);
	return error;
}

errcode_t ext2mb_transaction_write_data(ext2_filsys fs, uint64_t start, uint64_t count, const void *data)
{
	struct data_write write = { start, count, NULL };

	if (!fs || !data || !count)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	if (writes_alone(state))
		return write_with_lock(state, start, count, data);
	SCOPE_FREE uint8_t *copy;
	errcode_t error = make_copy(state, data, &copy);

	if (!error)
		error = lock_free_blocks(state, start, count, false);
	if (error)
		return error;
	error = data_claims_begin_write(&state->data_claims, &write);
	pthread_rwlock_unlock(&state->lock);
	if (error)
		return error;
	error = write_aligned(state, start, count, data, copy);
	data_claims_end_write(&state->data_claims, &write, error);
	return error ? fail(state, error) : 0;
}

errcode_t ext2mb_transaction_claim_data(ext2_filsys fs, uint64_t start, uint64_t count)
{
	if (!fs || !count)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	errcode_t error = lock_free_blocks(state, start, count, false);

	if (error)
		return error;
	error = writes_alone(state) ? EXT2_ET_OP_NOT_SUPPORTED : data_claims_add(&state->data_claims, start, count);
	pthread_rwlock_unlock(&state->lock);
	return error;
}

errcode_t ext2mb_transaction_release_data(ext2_filsys fs, uint64_t start, uint64_t count, errcode_t write_error)
{
	if (!fs || !count)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct channel_state *state = channel_state_of(fs->io);

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	errcode_t error = data_claims_release(&state->data_claims, start, count, write_error);

	if (!error && write_error)
		(void)!fail(state, write_error);
	return error;
}
