/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers blocks that follow each other in the image into large writes: small files cost one pwrite(2) a quarter of a
 * megabyte instead of one each. Each worker has its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/sink.h"
#include "ondisk/file_map.h"
#include "support/problem.h"

/* The largest reservation. */
#define RUN_WRITER_BYTES (1u << 20)

struct run_writer {
	struct sink *sink;    /* borrowed */
	char *buffer;         /* NULL: nothing has been reserved yet */
	uint64_t start_bytes; /* where in the filesystem the buffer begins */
	size_t used_bytes;
	struct pool *readers; /* whose task uses it; NULL: those of another pool do */
};

/* Makes a writer of data, see image/sink.h. */
struct run_writer run_writer_create(struct sink *sink);
void run_writer_free(struct run_writer *writer);

/*
 * Room for `blocks` blocks to be written at block `start`; the caller fills them all before the next call.
 * At most RUN_WRITER_BYTES at once. If these blocks do not follow the gathered ones, it writes those first.
 */
MUST_CHECK errcode_t run_writer_reserve(struct run_writer *writer, uint64_t start, uint64_t blocks, void **bytes);

/* Gathers the bytes of a whole file for its extents, with zeros up to the end of the last one. */
MUST_CHECK errcode_t run_writer_copy(struct run_writer *writer, const struct file_extent *extents, uint32_t count,
                                     const void *bytes, size_t byte_count);

/* Writes the gathered blocks. */
MUST_CHECK errcode_t run_writer_flush(struct run_writer *writer);
