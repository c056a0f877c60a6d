/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/journal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "ext2fs/ext2mb_err.h"
#include "transaction/block_writer.h"

static errcode_t read_superblock(struct journal *journal, io_channel backing)
{
	uint64_t count = 1, blocks = 0;
	uint64_t block = layout_journal_block(journal->layout, 0, &count);
	errcode_t error = io_channel_read_blk64(backing, block, -JOURNAL_SUPERBLOCK_BYTES, journal->bytes);

	if (error)
		return error;
	if (journal_superblock_read(journal->bytes, &journal->super) != JOURNAL_SUPERBLOCK_GOOD)
		return EXT2MB_ET_BAD_JOURNAL;
	for (size_t index = 0; index < journal->layout->journal_run_count; index++)
		blocks += journal->layout->journal_runs[index].count;
	if (journal->super.block_bytes != journal->layout->block_bytes || journal->super.blocks > blocks)
		return EXT2MB_ET_BAD_JOURNAL;
	return journal->super.start ? EXT2MB_ET_NEEDS_RECOVERY : 0;
}

/* Does as the kernel does when it mounts: checksums of version 3, unless the journal has version 2. */
static void choose_features(struct journal_superblock *super, bool has_64bit, bool has_checksums)
{
	const uint32_t checksums = JOURNAL_INCOMPAT_CSUM_V2 | JOURNAL_INCOMPAT_CSUM_V3;

	if (super->version < 2)
		return;
	if (has_64bit)
		super->incompat |= JOURNAL_INCOMPAT_64BIT;
	if (has_checksums && !(super->incompat & checksums))
		super->incompat |= JOURNAL_INCOMPAT_CSUM_V3;
	super->compat &= ~JOURNAL_COMPAT_CHECKSUM;
	super->incompat &= ~JOURNAL_INCOMPAT_ASYNC_COMMIT;
}

errcode_t journal_open(struct journal *journal, const struct layout *layout, io_channel backing, bool has_64bit,
                       bool has_checksums)
{
	*journal = (struct journal){ .layout = layout };
	errcode_t error = read_superblock(journal, backing);

	if (error)
		return error;
	choose_features(&journal->super, has_64bit, has_checksums);
	journal->format = journal_format_of(&journal->super);
	/* The superblock of an empty journal may have the last transaction's sequence or the next one's. */
	journal->sequence = journal->super.sequence + 1;
	return 0;
}

static errcode_t write_superblock(struct journal *journal, io_channel backing, uint32_t start)
{
	uint64_t count = 1;

	journal->super.sequence = journal->sequence;
	journal->super.start = start;
	journal_superblock_update(journal->bytes, &journal->super);
	return io_channel_write_blk64(backing, layout_journal_block(journal->layout, 0, &count),
	                              -JOURNAL_SUPERBLOCK_BYTES, journal->bytes);
}

errcode_t journal_write_tail(struct journal *journal, io_channel backing)
{
	return write_superblock(journal, backing, journal->super.first);
}

errcode_t journal_write_empty(struct journal *journal, io_channel backing)
{
	return write_superblock(journal, backing, 0);
}

/* The state of writing the log. */
struct log {
	struct journal *journal;
	struct block_writer writer;
	uint64_t next;            /* block of the journal */
	struct journal_tag *tags; /* owned, of one descriptor */
	uint8_t *descriptor;      /* owned */
};

static errcode_t log_add(struct log *log, const void *data)
{
	uint64_t count = 1;

	return block_writer_add(&log->writer, layout_journal_block(log->journal->layout, log->next++, &count), data);
}

static errcode_t log_add_described(struct log *log, struct held_block *const *blocks, uint32_t count)
{
	for (uint32_t index = 0; index < count; index++) {
		bool is_escaped = journal_escape(blocks[index]->data);

		log->tags[index] = (struct journal_tag){ blocks[index]->block, blocks[index]->data, is_escaped };
	}
	journal_descriptor_write(&log->journal->format, log->journal->sequence, log->tags, count, log->descriptor);
	errcode_t error = log_add(log, log->descriptor);

	for (uint32_t index = 0; index < count; index++) {
		if (!error)
			error = log_add(log, blocks[index]->data);
		if (log->tags[index].is_escaped)
			journal_unescape(blocks[index]->data);
	}
	return error;
}

static errcode_t log_add_all(struct log *log, struct held_block *const *blocks, size_t count)
{
	uint32_t most = journal_descriptor_tags(&log->journal->format);
	errcode_t error = 0;

	log->tags = calloc(most, sizeof(*log->tags));
	log->descriptor = malloc(log->journal->format.block_bytes);
	if (!log->tags || !log->descriptor)
		return ENOMEM;
	for (size_t index = 0; index < count && !error; index += most)
		error = log_add_described(log, blocks + index, count - index < most ? (uint32_t)(count - index) : most);
	/*
	 * Zero the commit block's place before the commit block is written: if only the first sectors of that write
	 * reach the disk, the commit block is whole or absent.
	 */
	memset(log->descriptor, 0, log->journal->format.block_bytes);
	if (!error)
		error = log_add(log, log->descriptor);
	return error ? error : block_writer_finish(&log->writer);
}

errcode_t journal_write_blocks(struct journal *journal, io_channel backing, struct held_block *const *blocks,
                               size_t count)
{
	struct log log = { .journal = journal, .next = journal->super.first };
	errcode_t error = block_writer_init(&log.writer, backing, journal->format.block_bytes);

	if (!error)
		error = log_add_all(&log, blocks, count);
	free(log.tags);
	free(log.descriptor);
	block_writer_destroy(&log.writer);
	return error;
}

errcode_t journal_write_commit(struct journal *journal, io_channel backing, size_t count, time_t seconds)
{
	SCOPE_FREE uint8_t *block = malloc(journal->format.block_bytes);
	uint64_t logical = journal->super.first + journal_transaction_blocks(&journal->format, count) - 1;
	uint64_t one = 1;
	struct timespec now = { .tv_sec = seconds };

	if (!block)
		return ENOMEM;
	if (!seconds)
		clock_gettime(CLOCK_REALTIME, &now);
	journal_commit_write(&journal->format, journal->sequence, (uint64_t)now.tv_sec, (uint32_t)now.tv_nsec, block);
	return io_channel_write_blk64(backing, layout_journal_block(journal->layout, logical, &one), 1, block);
}
