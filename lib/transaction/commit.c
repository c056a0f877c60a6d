/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/commit.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/ext2mb_err.h"
#include "transaction/block_writer.h"

static errcode_t flush(struct channel_state *state)
{
	errcode_t error = io_channel_flush(state->backing);

	if (!error)
		state->has_unflushed = false;
	return error;
}

static errcode_t write_needs_recovery(struct channel_state *state, bool is_needed)
{
	uint64_t block = channel_super_block(state);
	errcode_t error = io_channel_read_blk64(state->backing, block, 1, state->bounce);

	if (error)
		return error;
	superblock_set_needs_recovery(state->bounce + channel_super_offset(state), is_needed);
	return io_channel_write_blk64(state->backing, block, 1, state->bounce);
}

/*
 * Returns whether a held block is the same as on disk; such blocks are dropped. Needs the exclusive lock. A block
 * that cannot be read, because the disk has lost it or the file ends before it, is written, as it would be without a
 * transaction.
 */
static bool is_unchanged(struct channel_state *state, const struct held_block *held)
{
	if (io_channel_read_blk64(state->backing, held->block, 1, state->bounce))
		return false;
	if (held->block == channel_super_block(state))
		superblock_set_needs_recovery(state->bounce + channel_super_offset(state), false);
	return memcmp(held->data, state->bounce, state->layout.block_bytes) == 0;
}

static void drop_unchanged(struct channel_state *state, struct held_block **list, size_t *count)
{
	size_t kept = 0;

	for (size_t index = 0; index < *count; index++) {
		if (is_unchanged(state, list[index])) {
			held_blocks_drop(&state->held, list[index]);
			state->counts.unchanged_blocks++;
		} else {
			list[kept++] = list[index];
		}
	}
	*count = kept;
}

static bool is_backup(const struct channel_state *state, const struct held_block *held)
{
	return block_ranges_has(&state->layout.backups, held->block);
}

errcode_t commit_collect(struct channel_state *state, struct commit_changes *changes)
{
	struct held_block **all;
	size_t total = state->held.count;
	errcode_t error = held_blocks_list(&state->held, &all);

	if (error)
		return error;
	SCOPE_FREE struct held_block **list = all;
	drop_unchanged(state, list, &total);
	*changes = (struct commit_changes){ .blocks = calloc(total + 1, sizeof(*changes->blocks)) };
	if (!changes->blocks)
		return ENOMEM;
	for (size_t index = 0; index < total; index++)
		if (!is_backup(state, list[index]))
			changes->blocks[changes->count++] = list[index];
	for (size_t index = 0; index < total; index++)
		if (is_backup(state, list[index]))
			changes->blocks[changes->count + changes->backups++] = list[index];
	return 0;
}

/* Writes blocks in place. */
static errcode_t write_in_place(struct channel_state *state, struct held_block *const *blocks, size_t count)
{
	struct block_writer writer;
	errcode_t error = block_writer_init(&writer, state->backing, state->layout.block_bytes);

	for (size_t index = 0; index < count && !error; index++)
		error = block_writer_add(&writer, blocks[index]->block, blocks[index]->data);
	if (!error)
		error = block_writer_finish(&writer);
	block_writer_destroy(&writer);
	return error;
}

/* Runs before the first commit. The flag is written first: recovery would discard a journal that has begun without
 * it. */
static errcode_t begin(struct channel_state *state)
{
	if (state->has_begun)
		return 0;
	state->has_begun = true;
	errcode_t error = write_needs_recovery(state, true);

	if (!error)
		error = flush(state);
	return error ? error : journal_write_tail(&state->journal, state->backing);
}

/* Writes the log, which makes the changes durable before any of them is in place. */
static errcode_t write_log(struct channel_state *state, const struct commit_changes *changes)
{
	struct journal *journal = &state->journal;
	errcode_t error = begin(state);

	if (!error)
		error = journal_write_blocks(journal, state->backing, changes->blocks, changes->count);
	/* This flush includes the direct writes: everything that the transaction refers to must be on disk before its
	 * commit block. */
	if (!error)
		error = flush(state);
	if (error)
		return error;
	state->is_in_doubt = true;
	error = journal_write_commit(journal, state->backing, changes->count, state->now);
	/* The transaction is durable from here on, so only now may the old blocks be overwritten. */
	return error ? error : flush(state);
}

static errcode_t write_checkpoint(struct channel_state *state, const struct commit_changes *changes)
{
	struct journal *journal = &state->journal;
	errcode_t error = write_in_place(state, changes->blocks, changes->count);

	/* The log is needed until all blocks are in place. */
	if (!error)
		error = flush(state);
	if (!error)
		error = write_in_place(state, changes->blocks + changes->count, changes->backups);
	if (error || !state->layout.has_journal)
		return error ? error : flush(state);
	journal->sequence++;
	error = journal_write_tail(journal, state->backing);
	/* Otherwise a replay could restore old contents over blocks that the next transaction writes directly. */
	if (!error)
		error = flush(state);
	if (!error)
		state->is_in_doubt = false;
	return error;
}

static errcode_t write_changes(struct channel_state *state, const struct commit_changes *changes)
{
	if (!state->layout.has_journal) {
		errcode_t error = state->has_unflushed ? flush(state) : 0;

		return error ? error : write_checkpoint(state, changes);
	}
	if (journal_transaction_blocks(&state->journal.format, changes->count) > journal_room(&state->journal))
		return EXT2MB_ET_TRANSACTION_SIZE;
	errcode_t error = write_log(state, changes);

	return error ? error : write_checkpoint(state, changes);
}

/* Every superblock on disk has the flag while the journal may have a transaction; those in memory do not. */
static errcode_t write_with_flag(struct channel_state *state, const struct commit_changes *changes)
{
	struct held_block *held = held_blocks_find(&state->held, channel_super_block(state));
	uint8_t *super = held ? held->data + channel_super_offset(state) : NULL;

	if (super && state->layout.has_journal)
		superblock_set_needs_recovery(super, true);
	errcode_t error = write_changes(state, changes);

	if (super)
		superblock_set_needs_recovery(super, false);
	if (super && !error)
		memcpy(state->super, super, SUPERBLOCK_BYTES);
	return error;
}

/* Discards only blocks that are free now. A failed discard does no harm. */
static void discard_run(struct channel_state *state, const struct block_run *run)
{
	uint64_t start = run->start, end = run->start + run->count;

	while (start < end) {
		uint64_t next = start;
		bool is_free = true;

		while (next < end && is_free) {
			if (committed_bitmap_is_free(&state->committed, state->backing, next, &is_free))
				return;
			next += is_free;
		}
		if (next > start)
			io_channel_discard(state->backing, start, next - start);
		start = next + 1;
	}
}

static void discard_all(struct channel_state *state)
{
	for (size_t index = 0; index < state->discards.count; index++)
		discard_run(state, &state->discards.runs[index]);
	block_ranges_clear(&state->discards);
}

errcode_t channel_fail(struct channel_state *state, errcode_t error)
{
	if (state->phase == TRANSACTION_OPEN)
		state->why_over = error;
	/* From here on all writes of the program's threads are refused. */
	data_claims_wait(&state->data_claims);
	state->phase = TRANSACTION_OVER;
	/* In doubt the held blocks are more recent than the disk. */
	if (!state->is_in_doubt)
		held_blocks_clear(&state->held);
	block_ranges_clear(&state->discards);
	block_ranges_clear(&state->data);
	return error;
}

uint64_t commit_log_blocks(const struct channel_state *state)
{
	return state->held.count && state->layout.has_journal ?
	               journal_transaction_blocks(&state->journal.format, state->held.count) :
	               state->held.count;
}

errcode_t commit_held(struct channel_state *state)
{
	struct commit_changes changes = { 0 };

	if (state->is_rehearsal)
		return EXT2MB_ET_TRANSACTION_OVER;
	/* Writes of contents that have begun end first. None begins now, because that takes the lock. */
	errcode_t error = data_claims_settle(&state->data_claims, &state->has_unflushed);

	if (!error)
		error = commit_collect(state, &changes);
	if (!error && changes.count)
		error = write_with_flag(state, &changes);
	else if (!error && changes.backups)
		error = write_in_place(state, changes.blocks, changes.backups);
	if (!error && state->has_unflushed)
		error = flush(state);
	free(changes.blocks);
	if (error)
		return error;
	state->counts.commits++;
	state->counts.logged_blocks += changes.count;
	committed_bitmap_refresh(&state->committed, &state->layout, &state->held);
	held_blocks_clear(&state->held);
	block_ranges_clear(&state->data);
	state->freed_blocks = 0;
	discard_all(state);
	return 0;
}

errcode_t commit_end(struct channel_state *state)
{
	if (!state->has_begun || state->is_in_doubt)
		return 0;
	errcode_t error = journal_write_empty(&state->journal, state->backing);

	if (!error)
		error = flush(state);
	if (!error)
		error = write_needs_recovery(state, false);
	if (!error)
		error = flush(state);
	if (!error)
		state->has_begun = false;
	return error;
}
