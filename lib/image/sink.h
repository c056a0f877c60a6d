/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a filesystem's blocks: an image that is being made (populate/build/image_sink.h), or an existing
 * filesystem, whose changes are made in a transaction (image/transaction_sink.h). Code that writes inodes,
 * directories and contents need not know which.
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
 * What goes through the page cache is written before it becomes more, while it is in the processor's own cache. On two
 * processors with 2 MiB each, 1 MiB took a part of linux-source 8 % longer, 70 000 files of 500 B 4 %; 64 KiB 5 % and
 * nothing.
 */
#define SINK_CACHED_BYTES (256u << 10)

struct sink;

struct sink_operations {
	/* Blocks as they were last written. EIO and others of reading; ENODATA beyond the end. */
	errcode_t (*read)(struct sink *sink, uint64_t block, uint32_t count, void *bytes);

	/* Metadata. Errors of writing. */
	errcode_t (*write)(struct sink *sink, uint64_t block, uint32_t count, const void *bytes);

	/*
	 * Data, from memory that is aligned to a page. On the disk before the step that names them ends. Errors of
	 * writing; what else the implementation says.
	 */
	errcode_t (*write_data)(struct sink *sink, uint64_t block, uint32_t count, const void *bytes);

	/* Discards blocks whose contents are no longer needed, as far as possible. NULL: not possible. */
	void (*discard)(struct sink *sink, uint64_t block, uint64_t count);

	/* All or nothing of what is written in between is there after a crash. NULL: before the last barrier() nothing
	 * is. */
	errcode_t (*begin)(struct sink *sink);
	errcode_t (*end)(struct sink *sink);

	/* All that was written until now is on the disk. */
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
