/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of an image differs from an older one, and has to be shipped to those who have the older one: the blocks that
 * the new filesystem uses and whose bytes are not those at the same place there. Blocks that are free in the new
 * filesystem do not count, whatever they hold. All bytes are compared as they are on disk, also where a journal was not
 * replayed.
 */
#pragma once

#include "image/volume.h"
#include "support/run/pool.h"

/* The older image, of which only the bytes matter. */
struct delta_old {
	const char *path; /* the caller's */
	int descriptor;
	uint64_t offset_bytes; /* where what the new filesystem is compared with begins */
	uint64_t bytes;        /* that there are from there on */
};

struct delta_options {
	uint64_t chunk_bytes; /* chunks begin at multiples of it from the filesystem's beginning; 0: none are counted */
	bool has_tail; /* what lies after the filesystem in its file, for instance a hash tree, belongs to the image */
};

/* From the beginning of the filesystem. */
struct delta_range {
	uint64_t start_bytes, bytes;
};

/* Differing blocks, and the chunks with any of them. */
struct delta {
	const char *old_path; /* the caller's; NULL: nothing has been compared */
	uint32_t block_bytes;
	uint64_t image_bytes; /* of the filesystem, and its tail */
	uint64_t blocks;      /* in use */
	uint64_t differing_blocks, differing_bytes;
	uint64_t chunk_bytes;
	uint64_t chunks; /* with blocks in use */
	uint64_t differing_chunks, differing_chunk_bytes;
	struct delta_range *ranges; /* of blocks; ascending, and never adjacent; owned */
	size_t range_count;
	uint64_t doubtful_groups; /* whose bitmaps cannot be read, or are wrong: all of their blocks count as in use */
};

/* Opens it for reading. The caller closes it after success. */
MUST_CHECK errcode_t delta_old_open(const char *path, uint64_t offset_bytes, struct delta_old *old,
                                    struct problem *problem);
void delta_old_close(struct delta_old *old);

/*
 * Compares an open filesystem with the older image, a group at a time by all workers; the result does not depend on
 * them. Where the older image ends, all blocks in use differ. Problems name the image that cannot be read. The caller
 * calls delta_free() in any case. Main thread.
 */
MUST_CHECK errcode_t delta_read(const struct volume *volume, const struct delta_old *old,
                                const struct delta_options *options, struct pool *pool, struct delta *delta,
                                struct problem *problem);
void delta_free(struct delta *delta);
