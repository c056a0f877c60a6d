/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filesystem to be looked at: what its superblock and group descriptors say, checked, and reading from any thread.
 * The one file of this folder that touches libext2fs's state, and only while it opens.
 */
#ifndef ANALYZE_IMAGE_H
#define ANALYZE_IMAGE_H

#include <stddef.h>

#include "analyze/report.h"
#include "ondisk/format.h"
#include "support/problem.h"

/* What is needed of a group's descriptor. Blocks of 0: out of bounds, so the part cannot be read. */
struct image_group {
	uint64_t block_bitmap;
	uint64_t inode_table;
	uint32_t inodes_used; /* at the front of its inode table: the rest was never written */
	bool is_uninitialised; /* the bitmap was never written: only the metadata is in use */
};

/* A run of blocks that hold metadata of the filesystem itself. */
struct image_zone {
	uint64_t start, count;
};

struct image {
	int descriptor;
	const char *path;      /* the caller's */
	uint64_t offset_bytes; /* of the filesystem */
	struct ondisk_format format;
	uint64_t first_block, blocks;
	uint32_t groups;
	uint32_t blocks_per_group, clusters_per_group;
	uint32_t inodes_per_group, inodes;
	uint32_t first_inode; /* that is not the filesystem's own */
	bool has_flex_groups;
	struct image_group *group;
	struct image_zone *zones; /* in ascending order, not overlapping */
	size_t zone_count;
};

/*
 * Opens path and fills in all of it, and of report the filesystem's part. Checksums are not verified: what is wrong
 * shows in what is read. Errors: those of libext2fs and of the system; image_close() is due only after success.
 */
MUST_CHECK errcode_t image_open(const char *path, uint64_t offset_bytes, struct image *image,
                                struct report_filesystem *filesystem, uint64_t *free_blocks, uint64_t *reserved_blocks,
                                struct problem *problem);

void image_close(struct image *image);

/* Reads count blocks. EXT2_ET_SHORT_READ where the device ends earlier. Any thread. */
MUST_CHECK errcode_t image_read(const struct image *image, uint64_t block, uint64_t count, void *bytes);

/* Tells the system that they will be read soon. Any thread. */
void image_expect(const struct image *image, uint64_t block, uint64_t count);

/* True if all of them are the filesystem's. */
static inline bool image_has_blocks(const struct image *image, uint64_t block, uint64_t count)
{
	return block > image->first_block && block < image->blocks && count <= image->blocks - block;
}

#endif
