/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/transaction_sink.h"

#include "ext2fs/ext2mb.h"

static ext2_filsys filesystem_of(struct sink *sink)
{
	return ((struct transaction_sink *)sink)->fs;
}

static errcode_t read_blocks(struct sink *sink, uint64_t block, uint32_t count, void *bytes)
{
	return io_channel_read_blk64(filesystem_of(sink)->io, block, (int)count, bytes);
}

static errcode_t write_blocks(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	return io_channel_write_blk64(filesystem_of(sink)->io, block, (int)count, bytes);
}

static errcode_t write_data(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	return ext2mb_transaction_write_data(filesystem_of(sink), block, count, bytes);
}

static void discard(struct sink *sink, uint64_t block, uint64_t count)
{
	/* The blocks hold no file's contents either way. */
	errcode_t error = io_channel_discard(filesystem_of(sink)->io, block, count);

	(void)error;
}

static errcode_t begin(struct sink *sink)
{
	return ext2mb_transaction_begin(filesystem_of(sink));
}

static errcode_t end(struct sink *sink)
{
	return ext2mb_transaction_end(filesystem_of(sink));
}

static errcode_t barrier(struct sink *sink)
{
	return ext2mb_transaction_commit(filesystem_of(sink));
}

static const struct sink_operations operations = {
	.read = read_blocks,
	.write = write_blocks,
	.write_data = write_data,
	.discard = discard,
	.begin = begin,
	.end = end,
	.barrier = barrier,
};

void transaction_sink_init(struct transaction_sink *sink, ext2_filsys fs)
{
	*sink = (struct transaction_sink){ { &operations, fs->blocksize, SINK_CACHED_BYTES }, fs };
}
