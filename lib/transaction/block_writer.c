/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/block_writer.h"

#include <errno.h>
#include <string.h>

#define BUFFER_BYTES (256 * 1024)

errcode_t block_writer_init(struct block_writer *writer, io_channel backing, uint32_t block_bytes)
{
	*writer = (struct block_writer){
		.backing = backing,
		.block_bytes = block_bytes,
		.most = BUFFER_BYTES / block_bytes,
	};
	/* Aligned for O_DIRECT, too. */
	return posix_memalign((void **)&writer->buffer, 4096, BUFFER_BYTES) ? ENOMEM : 0;
}

errcode_t block_writer_finish(struct block_writer *writer)
{
	uint32_t count = writer->count;

	writer->count = 0;
	return count ? io_channel_write_blk64(writer->backing, writer->start, (int)count, writer->buffer) : 0;
}

errcode_t block_writer_add(struct block_writer *writer, uint64_t block, const void *data)
{
	bool is_adjacent = writer->count && writer->count < writer->most && writer->start + writer->count == block;
	errcode_t error = is_adjacent ? 0 : block_writer_finish(writer);

	if (error)
		return error;
	if (!writer->count)
		writer->start = block;
	memcpy(writer->buffer + (size_t)writer->count++ * writer->block_bytes, data, writer->block_bytes);
	return 0;
}

void block_writer_destroy(struct block_writer *writer)
{
	free(TAKE(writer->buffer));
}
