/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that holds an image that is being made, and a sink that writes to it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "image/sink.h"
#include "output/leaf_hashes.h"

/* The largest write past the page cache: no processor cache limits it. */
#define IMAGE_SINK_DIRECT_BYTES (1u << 20)

/*
 * The file that holds a filesystem; all other offsets count from where the filesystem begins.
 *
 * Contents go to a device past the page cache (O_DIRECT), by which linux-source took 1.88 s instead of 2.64 on a disk,
 * and half of the processor time. Metadata goes through the page cache, as mke2fs and libext2fs write it.
 */
struct image {
	int descriptor;
	int direct_descriptor; /* the same file, opened with O_DIRECT; -1: only the page cache is used */
	uint64_t offset_bytes;
};

/* Writes all of it, also if one pwrite(2) writes less. */
MUST_CHECK errcode_t image_write(const struct image *image, const void *bytes, size_t count, uint64_t offset);

/* Reads all of it. ENODATA if the file ends before. */
MUST_CHECK errcode_t image_read(const struct image *image, void *bytes, size_t count, uint64_t offset);

struct image_sink {
	struct sink sink;
	struct image image;
	atomic_bool is_direct;      /* data go past the page cache, until the device refuses that */
	struct leaf_hashes *leaves; /* that note data when they are written, borrowed; NULL: none */
};

/* The file in which the image is made. output_open() and looking at the output say all but the sink. */
struct image_file {
	struct image image;          /* for what is written without libext2fs */
	const char *path;            /* the temporary name, or that of what is written in place */
	const char *filesystem_path; /* the same as e2fsprogs are told of an offset */
	bool in_place;               /* see output/output.h */
	struct image_sink sink;      /* once the filesystem's blocks are known */
};

/*
 * Data goes past the page cache if the image has a descriptor for that and no block shares a page with another one. A
 * step does nothing: no program sees the image before it has its name, and after a crash it has none.
 */
void image_sink_init(struct image_sink *sink, const struct image *image, uint32_t block_bytes);
