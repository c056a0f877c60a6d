/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/run_writer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/run/pool.h"

struct run_writer run_writer_create(struct sink *sink)
{
	return (struct run_writer){ .sink = sink };
}

void run_writer_free(struct run_writer *writer)
{
	free(TAKE(writer->buffer));
}

errcode_t run_writer_flush(struct run_writer *writer)
{
	size_t used_bytes = writer->used_bytes;

	writer->used_bytes = 0;
	if (!used_bytes)
		return 0;
	/* More readers would not make writing faster. */
	pool_pause(writer->readers);
	errcode_t error = sink_write_data(writer->sink, writer->start_bytes / writer->sink->block_bytes,
	                                  (uint32_t)(used_bytes / writer->sink->block_bytes), writer->buffer);

	pool_resume(writer->readers);
	return error;
}

errcode_t run_writer_reserve(struct run_writer *writer, uint64_t start, uint64_t blocks, void **bytes)
{
	const uint32_t block_bytes = writer->sink->block_bytes;
	uint64_t start_bytes = start * block_bytes, count_bytes = blocks * block_bytes;

	assert(count_bytes <= RUN_WRITER_BYTES);
	if (!writer->buffer)
		writer->buffer = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), RUN_WRITER_BYTES);
	if (!writer->buffer)
		return ENOMEM;
	if (start_bytes != writer->start_bytes + writer->used_bytes ||
	    writer->used_bytes + count_bytes > writer->sink->most_bytes) {
		errcode_t error = run_writer_flush(writer);

		if (error)
			return error;
		writer->start_bytes = start_bytes;
	}
	*bytes = writer->buffer + writer->used_bytes;
	writer->used_bytes += count_bytes;
	return 0;
}

errcode_t run_writer_copy(struct run_writer *writer, const struct file_extent *extents, uint32_t count,
                          const void *bytes, size_t byte_count)
{
	const uint32_t most = RUN_WRITER_BYTES / writer->sink->block_bytes;
	const char *next = bytes;

	for (uint32_t extent = 0; extent < count; extent++) {
		for (uint32_t done = 0, blocks; done < extents[extent].count; done += blocks) {
			void *space;

			blocks = extents[extent].count - done < most ? extents[extent].count - done : most;
			errcode_t error = run_writer_reserve(writer, extents[extent].physical + done, blocks, &space);

			if (error)
				return error;
			size_t space_bytes = (size_t)blocks * writer->sink->block_bytes;
			size_t filled_bytes = byte_count < space_bytes ? byte_count : space_bytes;

			memset(mempcpy(space, next, filled_bytes), 0, space_bytes - filled_bytes);
			next += filled_bytes;
			byte_count -= filled_bytes;
		}
	}
	return 0;
}
