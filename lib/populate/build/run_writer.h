/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers blocks that follow each other in the image into large writes: small files cost one pwrite(2) a quarter of a
 * megabyte instead of one each. Each worker has its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ondisk/file_map.h"
#include "support/problem.h"

/* The most that is reserved at once. */
#define RUN_WRITER_BYTES (1u << 20)
/*
 * What is gathered is written before it becomes more, while it is in the processor's own cache. On two processors with
 * 2 MiB each, 1 MiB took a part of linux-source 8 % longer, 70 000 files of 500 B 4 %; 64 KiB 5 % and nothing.
 */
#define RUN_WRITER_GATHERED_BYTES (256u << 10)

/*
 * The file that holds a filesystem; all other offsets count from where the filesystem begins.
 *
 * Contents go to a device past the page cache (O_DIRECT), by which linux-source took 1.88 s instead of 2.64 on a disk,
 * and half of the processor time. All else goes through it: what mke2fs and libext2fs write of metadata lies there.
 */
struct image {
	int descriptor;
	int direct_descriptor; /* the same file, opened with O_DIRECT; -1: only the page cache is used */
	uint64_t offset_bytes;
};

/* Writes all of it, whatever the kernel takes at once. */
MUST_CHECK errcode_t image_write(const struct image *image, const void *bytes, size_t count, uint64_t offset);

/* Reads all of it. ENODATA if the file ends before. */
MUST_CHECK errcode_t image_read(const struct image *image, void *bytes, size_t count, uint64_t offset);

struct run_writer {
	struct image image;
	uint32_t block_bytes;
	bool is_direct;
	char *buffer;         /* NULL: nothing has been reserved yet */
	uint64_t start_bytes; /* where in the filesystem the buffer begins */
	size_t used_bytes;
	struct pool *readers; /* whose task uses it; NULL: those of another pool do */
};

/*
 * Writes past the page cache where the image has a descriptor for that and no block shares a page with another one,
 * until the device refuses it.
 */
struct run_writer run_writer_create(const struct image *image, uint32_t block_bytes);
void run_writer_free(struct run_writer *writer);

/*
 * Room for `blocks` blocks to be written at block `start`; the caller fills them all before the next call.
 * At most RUN_WRITER_BYTES at once. What was gathered is written first if these blocks do not follow it.
 */
MUST_CHECK errcode_t run_writer_reserve(struct run_writer *writer, uint64_t start, uint64_t blocks, void **bytes);

/* Gathers the bytes of a whole file for its extents, with zeros up to the end of the last one. */
MUST_CHECK errcode_t run_writer_copy(struct run_writer *writer, const struct file_extent *extents, uint32_t count,
                                     const void *bytes, size_t byte_count);

/* Writes what is gathered. */
MUST_CHECK errcode_t run_writer_flush(struct run_writer *writer);
