/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/build/run_writer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/io/whole_io.h"
#include "support/run/pool.h"

errcode_t image_write(const struct image *image, const void *bytes, size_t count, uint64_t offset)
{
	return whole_write(image->descriptor, bytes, count, image->offset_bytes + offset);
}

errcode_t image_read(const struct image *image, void *bytes, size_t count, uint64_t offset)
{
	return whole_read(image->descriptor, bytes, count, image->offset_bytes + offset);
}

struct run_writer run_writer_create(const struct image *image, uint32_t block_bytes)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	return (struct run_writer){
		.image = *image,
		.block_bytes = block_bytes,
		.is_direct = image->direct_descriptor >= 0 && block_bytes % page_bytes == 0 &&
		             image->offset_bytes % page_bytes == 0,
	};
}

void run_writer_free(struct run_writer *writer)
{
	free(TAKE(writer->buffer));
}

static errcode_t write_gathered(struct run_writer *writer, size_t bytes)
{
	const struct image direct = { writer->image.direct_descriptor, -1, writer->image.offset_bytes };

	if (writer->is_direct) {
		errcode_t error = image_write(&direct, writer->buffer, bytes, writer->start_bytes);

		if (error != EINVAL)
			return error;
		/* Its blocks are larger than ours, or it cannot do this at all. */
		writer->is_direct = false;
	}
	return image_write(&writer->image, writer->buffer, bytes, writer->start_bytes);
}

errcode_t run_writer_flush(struct run_writer *writer)
{
	size_t used_bytes = writer->used_bytes;

	writer->used_bytes = 0;
	if (!used_bytes)
		return 0;
	/* More readers write no faster. */
	pool_pause(writer->readers);
	errcode_t error = write_gathered(writer, used_bytes);

	pool_resume(writer->readers);
	return error;
}

errcode_t run_writer_reserve(struct run_writer *writer, uint64_t start, uint64_t blocks, void **bytes)
{
	uint64_t start_bytes = start * writer->block_bytes, count_bytes = blocks * writer->block_bytes;
	/* No cache has anything to gain past it. */
	size_t most_bytes = writer->is_direct ? RUN_WRITER_BYTES : RUN_WRITER_GATHERED_BYTES;

	assert(count_bytes <= RUN_WRITER_BYTES);
	if (!writer->buffer)
		writer->buffer = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), RUN_WRITER_BYTES);
	if (!writer->buffer)
		return ENOMEM;
	if (start_bytes != writer->start_bytes + writer->used_bytes || writer->used_bytes + count_bytes > most_bytes) {
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
	const uint32_t most = RUN_WRITER_BYTES / writer->block_bytes;
	const char *next = bytes;

	for (uint32_t extent = 0; extent < count; extent++) {
		for (uint32_t done = 0, blocks; done < extents[extent].count; done += blocks) {
			void *space;

			blocks = extents[extent].count - done < most ? extents[extent].count - done : most;
			errcode_t error = run_writer_reserve(writer, extents[extent].physical + done, blocks, &space);

			if (error)
				return error;
			size_t space_bytes = (size_t)blocks * writer->block_bytes;
			size_t filled_bytes = byte_count < space_bytes ? byte_count : space_bytes;

			memset(mempcpy(space, next, filled_bytes), 0, space_bytes - filled_bytes);
			next += filled_bytes;
			byte_count -= filled_bytes;
		}
	}
	return 0;
}
