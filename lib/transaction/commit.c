/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/commit.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/ext2mb_err.h"
#include "transaction/block_writer.h"

static errcode_t flush(struct transaction *transaction)
{
	errcode_t error = io_channel_flush(transaction->backing);

	if (!error)
		transaction->has_unflushed = false;
	return error;
}

static errcode_t write_needs_recovery(struct transaction *transaction, bool is_needed)
{
	uint64_t block = transaction_super_block(transaction);
	errcode_t error = io_channel_read_blk64(transaction->backing, block, 1, transaction->bounce);

	if (error)
		return error;
	superblock_set_needs_recovery(transaction->bounce + transaction_super_offset(transaction), is_needed);
	return io_channel_write_blk64(transaction->backing, block, 1, transaction->bounce);
}

/*
 * Needs the lock alone: the blocks that are the same as on disk are dropped. What cannot be read there, because the
 * disk has lost it or a file ends before it, is written as it would be without a transaction.
 */
static bool is_unchanged(struct transaction *transaction, const struct held_block *held)
{
	if (io_channel_read_blk64(transaction->backing, held->block, 1, transaction->bounce))
		return false;
	if (held->block == transaction_super_block(transaction))
		superblock_set_needs_recovery(transaction->bounce + transaction_super_offset(transaction), false);
	return memcmp(held->data, transaction->bounce, transaction->layout.block_bytes) == 0;
}

static void drop_unchanged(struct transaction *transaction, struct held_block **list, size_t *count)
{
	size_t kept = 0;

	for (size_t index = 0; index < *count; index++) {
		if (is_unchanged(transaction, list[index])) {
			held_blocks_drop(&transaction->held, list[index]);
			transaction->counts.unchanged_blocks++;
		} else {
			list[kept++] = list[index];
		}
	}
	*count = kept;
}

static bool is_backup(const struct transaction *transaction, const struct held_block *held)
{
	return block_ranges_has(&transaction->layout.backups, held->block);
}

errcode_t commit_collect(struct transaction *transaction, struct commit_changes *changes)
{
	struct held_block **all;
	size_t total = transaction->held.count;
	errcode_t error = held_blocks_list(&transaction->held, &all);

	if (error)
		return error;
	SCOPE_FREE struct held_block **list = all;
	drop_unchanged(transaction, list, &total);
	*changes = (struct commit_changes){ .blocks = calloc(total + 1, sizeof(*changes->blocks)) };
	if (!changes->blocks)
		return ENOMEM;
	for (size_t index = 0; index < total; index++)
		if (!is_backup(transaction, list[index]))
			changes->blocks[changes->count++] = list[index];
	for (size_t index = 0; index < total; index++)
		if (is_backup(transaction, list[index]))
			changes->blocks[changes->count + changes->backups++] = list[index];
	return 0;
}

/* To their own places. */
static errcode_t write_in_place(struct transaction *transaction, struct held_block *const *blocks, size_t count)
{
	struct block_writer writer;
	errcode_t error = block_writer_init(&writer, transaction->backing, transaction->layout.block_bytes);

	for (size_t index = 0; index < count && !error; index++)
		error = block_writer_add(&writer, blocks[index]->block, blocks[index]->data);
	if (!error)
		error = block_writer_finish(&writer);
	block_writer_destroy(&writer);
	return error;
}

/* Before the first commit. The flag comes first: a journal that has begun without it would be thrown away. */
static errcode_t begin(struct transaction *transaction)
{
	if (transaction->has_begun)
		return 0;
	transaction->has_begun = true;
	errcode_t error = write_needs_recovery(transaction, true);

	if (!error)
		error = flush(transaction);
	return error ? error : journal_write_tail(&transaction->journal, transaction->backing);
}

/* What makes the changes last, before any of them is where it belongs. */
static errcode_t write_log(struct transaction *transaction, const struct commit_changes *changes)
{
	struct journal *journal = &transaction->journal;
	errcode_t error = begin(transaction);

	if (!error)
		error = journal_write_blocks(journal, transaction->backing, changes->blocks, changes->count);
	/* With the direct writes: all that the transaction says must be there before it counts. */
	if (!error)
		error = flush(transaction);
	if (error)
		return error;
	transaction->is_in_doubt = true;
	error = journal_write_commit(journal, transaction->backing, changes->count);
	/* It counts from here on, so only now may what it replaces be overwritten. */
	return error ? error : flush(transaction);
}

static errcode_t write_checkpoint(struct transaction *transaction, const struct commit_changes *changes)
{
	struct journal *journal = &transaction->journal;
	errcode_t error = write_in_place(transaction, changes->blocks, changes->count);

	/* The log is still needed until all of it is there. */
	if (!error)
		error = flush(transaction);
	if (!error)
		error = write_in_place(transaction, changes->blocks + changes->count, changes->backups);
	if (error || !transaction->layout.has_journal)
		return error ? error : flush(transaction);
	journal->sequence++;
	error = journal_write_tail(journal, transaction->backing);
	/* Else a replay could bring old contents back over what the next transaction writes directly. */
	if (!error)
		error = flush(transaction);
	if (!error)
		transaction->is_in_doubt = false;
	return error;
}

static errcode_t write_changes(struct transaction *transaction, const struct commit_changes *changes)
{
	if (!transaction->layout.has_journal) {
		errcode_t error = transaction->has_unflushed ? flush(transaction) : 0;

		return error ? error : write_checkpoint(transaction, changes);
	}
	if (journal_transaction_blocks(&transaction->journal.format, changes->count) >
	    journal_room(&transaction->journal))
		return EXT2MB_ET_TRANSACTION_SIZE;
	errcode_t error = write_log(transaction, changes);

	return error ? error : write_checkpoint(transaction, changes);
}

/* On disk every superblock has the flag while there may be something in the journal; in memory none. */
static errcode_t write_with_flag(struct transaction *transaction, const struct commit_changes *changes)
{
	struct held_block *held = held_blocks_find(&transaction->held, transaction_super_block(transaction));
	uint8_t *super = held ? held->data + transaction_super_offset(transaction) : NULL;

	if (super && transaction->layout.has_journal)
		superblock_set_needs_recovery(super, true);
	errcode_t error = write_changes(transaction, changes);

	if (super)
		superblock_set_needs_recovery(super, false);
	if (super && !error)
		memcpy(transaction->super, super, SUPERBLOCK_BYTES);
	return error;
}

/* Only what is free now. A discard that fails does no harm. */
static void discard_run(struct transaction *transaction, const struct block_run *run)
{
	uint64_t start = run->start, end = run->start + run->count;

	while (start < end) {
		uint64_t next = start;
		bool is_free = true;

		while (next < end && is_free) {
			if (committed_bitmap_is_free(&transaction->committed, transaction->backing, next, &is_free))
				return;
			next += is_free;
		}
		if (next > start)
			io_channel_discard(transaction->backing, start, next - start);
		start = next + 1;
	}
}

static void discard_all(struct transaction *transaction)
{
	for (size_t index = 0; index < transaction->discards.count; index++)
		discard_run(transaction, &transaction->discards.runs[index]);
	block_ranges_clear(&transaction->discards);
}

errcode_t transaction_fail(struct transaction *transaction, errcode_t error)
{
	if (transaction->state == TRANSACTION_OPEN)
		transaction->why_over = error;
	transaction->state = TRANSACTION_OVER;
	/* In doubt, what is held is nearer to the truth than the disk. */
	if (!transaction->is_in_doubt)
		held_blocks_clear(&transaction->held);
	block_ranges_clear(&transaction->discards);
	block_ranges_clear(&transaction->data);
	return error;
}

uint64_t commit_log_blocks(const struct transaction *transaction)
{
	return transaction->held.count && transaction->layout.has_journal ?
	               journal_transaction_blocks(&transaction->journal.format, transaction->held.count) :
	               transaction->held.count;
}

errcode_t commit_held(struct transaction *transaction)
{
	struct commit_changes changes = { 0 };
	errcode_t error = commit_collect(transaction, &changes);

	if (!error && changes.count)
		error = write_with_flag(transaction, &changes);
	else if (!error && changes.backups)
		error = write_in_place(transaction, changes.blocks, changes.backups);
	if (!error && transaction->has_unflushed)
		error = flush(transaction);
	free(changes.blocks);
	if (error)
		return error;
	transaction->counts.commits++;
	transaction->counts.logged_blocks += changes.count;
	committed_bitmap_refresh(&transaction->committed, &transaction->layout, &transaction->held);
	held_blocks_clear(&transaction->held);
	block_ranges_clear(&transaction->data);
	transaction->freed_blocks = 0;
	discard_all(transaction);
	return 0;
}

errcode_t commit_end(struct transaction *transaction)
{
	if (!transaction->has_begun || transaction->is_in_doubt)
		return 0;
	errcode_t error = journal_write_empty(&transaction->journal, transaction->backing);

	if (!error)
		error = flush(transaction);
	if (!error)
		error = write_needs_recovery(transaction, false);
	if (!error)
		error = flush(transaction);
	if (!error)
		transaction->has_begun = false;
	return error;
}
