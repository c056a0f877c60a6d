/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/image_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/io/whole_io.h"

errcode_t image_write(const struct image *image, const void *bytes, size_t count, uint64_t offset)
{
	return whole_write(image->descriptor, bytes, count, image->offset_bytes + offset);
}

errcode_t image_read(const struct image *image, void *bytes, size_t count, uint64_t offset)
{
	return whole_read(image->descriptor, bytes, count, image->offset_bytes + offset);
}

static struct image_sink *of(struct sink *sink)
{
	return (struct image_sink *)sink;
}

static errcode_t read_blocks(struct sink *sink, uint64_t block, uint32_t count, void *bytes)
{
	return image_read(&of(sink)->image, bytes, (size_t)count * sink->block_bytes, block * sink->block_bytes);
}

static errcode_t write_as_it_is(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	return image_write(&of(sink)->image, bytes, (size_t)count * sink->block_bytes, block * sink->block_bytes);
}

static errcode_t write_blocks(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	if (of(sink)->leaves)
		leaf_hashes_forget(of(sink)->leaves, (size_t)count * sink->block_bytes, block * sink->block_bytes);
	return write_as_it_is(sink, block, count, bytes);
}

static errcode_t write_past_cache(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	struct image_sink *own = of(sink);
	const struct image direct = { own->image.direct_descriptor, -1, own->image.offset_bytes };

	if (atomic_load_explicit(&own->is_direct, memory_order_relaxed)) {
		errcode_t error =
			image_write(&direct, bytes, (size_t)count * sink->block_bytes, block * sink->block_bytes);

		if (error != EINVAL)
			return error;
		/* The file's blocks are larger than ours, or it does not support direct writes at all. */
		atomic_store_explicit(&own->is_direct, false, memory_order_relaxed);
	}
	return write_as_it_is(sink, block, count, bytes);
}

static errcode_t write_data(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	struct leaf_hashes *leaves = of(sink)->leaves;
	errcode_t error = write_past_cache(sink, block, count, bytes);

	if (error || !leaves)
		return error;
	return leaf_hashes_note(leaves, bytes, (size_t)count * sink->block_bytes, block * sink->block_bytes);
}

static void discard(struct sink *sink, uint64_t block, uint64_t count)
{
	(void)!fallocate(of(sink)->image.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                 (off_t)(of(sink)->image.offset_bytes + block * sink->block_bytes),
	                 (off_t)(count * sink->block_bytes));
}

static errcode_t barrier(struct sink *sink)
{
	return fdatasync(of(sink)->image.descriptor) ? errno : 0;
}

static const struct sink_operations operations = {
	.read = read_blocks,
	.write = write_blocks,
	.write_data = write_data,
	.discard = discard,
	.barrier = barrier,
};

void image_sink_init(struct image_sink *sink, const struct image *image, uint32_t block_bytes)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	bool is_direct =
		image->direct_descriptor >= 0 && block_bytes % page_bytes == 0 && image->offset_bytes % page_bytes == 0;

	sink->sink = (struct sink){ &operations, block_bytes, is_direct ? IMAGE_SINK_DIRECT_BYTES : SINK_CACHED_BYTES };
	sink->image = *image;
	sink->leaves = NULL;
	atomic_init(&sink->is_direct, is_direct);
}
