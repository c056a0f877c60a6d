/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a filesystem's blocks: an image that is being made (output/image_sink.h), or an existing
 * filesystem, which is changed in a transaction (image/transaction_sink.h). Code that writes inodes,
 * directories and contents does not depend on which it is.
 *
 * A crash must not tear metadata: blocks that are shared with other inodes or entries are read, changed and written
 * back. Data goes to blocks that were free when the step began: contents, and also new directories. Units are blocks
 * of the filesystem.
 *
 * Threads: read(), write() and write_data() may be called by any of them at the same time, for different blocks;
 * other functions by one, while no other call runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

/*
 * The largest write through the page cache: so the data is still in the processor's own cache. On two processors with
 * 2 MiB of cache each, writes of 1 MiB took 8 % longer for a part of linux-source and 4 % longer for 70 000 files of
 * 500 B; writes of 64 KiB took 5 % longer and equally long.
 */
#define SINK_CACHED_BYTES (256u << 10)

struct sink;

struct sink_operations {
	/* Blocks as they were last written. EIO and others of reading; ENODATA beyond the end. */
	errcode_t (*read)(struct sink *sink, uint64_t block, uint32_t count, void *bytes);

	/* Metadata. Errors of writing. */
	errcode_t (*write)(struct sink *sink, uint64_t block, uint32_t count, const void *bytes);

	/*
	 * Writes data, from memory that is aligned to a page. It is on the disk before the step that refers to it ends.
	 * Errors of writing, and those that the implementation names.
	 */
	errcode_t (*write_data)(struct sink *sink, uint64_t block, uint32_t count, const void *bytes);

	/* Discards blocks whose contents are no longer needed, as far as possible. NULL: not possible. */
	void (*discard)(struct sink *sink, uint64_t block, uint64_t count);

	/* After a crash all writes between the two are there, or none. NULL: before the last barrier() no write is
	 * there. */
	errcode_t (*begin)(struct sink *sink);
	errcode_t (*end)(struct sink *sink);

	/* After it all earlier writes are on the disk. */
	errcode_t (*barrier)(struct sink *sink);
};

struct sink {
	const struct sink_operations *operations;
	uint32_t block_bytes;
	size_t most_bytes; /* of data in one call, which are worth being gathered: a power of two, whole pages */
};

MUST_CHECK static inline errcode_t sink_read(struct sink *sink, uint64_t block, uint32_t count, void *bytes)
{
	return sink->operations->read(sink, block, count, bytes);
}

MUST_CHECK static inline errcode_t sink_write(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	return sink->operations->write(sink, block, count, bytes);
}

MUST_CHECK static inline errcode_t sink_write_data(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	return sink->operations->write_data(sink, block, count, bytes);
}
