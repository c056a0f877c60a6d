/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file's block map: an extent tree, or the indirect map of filesystems without extents. Values in, bytes out. Both
 * have the same interface, so callers need not distinguish them.
 */
#pragma once

#include <stddef.h>

#include "ondisk/inode.h"

/* Maps blocks logical .. logical+count-1 of a file to physical .. physical+count-1. */
struct file_extent {
	uint32_t logical;
	uint32_t count; /* 1 to FILE_EXTENT_MAX_BLOCKS; or 1 to ..._UNWRITTEN_BLOCKS, with FILE_EXTENT_UNWRITTEN */
	uint64_t physical;
};

#define FILE_EXTENT_MAX_BLOCKS 32768 /* of an initialised extent */
#define FILE_EXTENT_MAX_UNWRITTEN_BLOCKS 32767
#define FILE_EXTENT_UNWRITTEN 0x80000000u /* flag in count, extent trees only: reads as zeros */

static inline uint32_t file_extent_blocks(const struct file_extent *extent)
{
	return extent->count & ~FILE_EXTENT_UNWRITTEN;
}

static inline bool file_extent_is_unwritten(const struct file_extent *extent)
{
	return extent->count & FILE_EXTENT_UNWRITTEN;
}

/* The extents of a file, ascending, while they are collected. Zero-initialise. */
struct extent_list {
	struct file_extent *extents; /* owned; freed with free() */
	size_t count, capacity;
	size_t final;      /* so many of the first ones stay as they are: nothing is joined to them */
	bool is_unwritten; /* of those that are added */
	uint32_t unit;     /* unwritten ones end at a multiple of so many blocks, a power of two; 0: 1 */
};

/* Adds blocks at the end, and joins them to the last extent if they continue it; no extent exceeds the map's limit. */
MUST_CHECK errcode_t extent_list_add(struct extent_list *list, uint32_t logical, uint64_t physical, uint64_t blocks);

/*
 * Returns how many blocks in addition to i_block the map of these extents needs: extent tree nodes, or indirect
 * blocks. extents ascend, do not overlap, and each is 1 to FILE_EXTENT_MAX_BLOCKS long. Adjacent extents are not
 * joined. Constant time with extents; linear in the indirect blocks without.
 */
uint64_t file_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count);

/*
 * Writes the map: root gets i_block; blocks gets file_map_blocks() blocks, the n-th to be written at block number
 * map_blocks[n] (both may be NULL when there are none). Each block comes before those that it points to, so ascending
 * map_blocks are read forwards: an extent tree goes level by level from the root down, each level from left to right;
 * indirect blocks come in the order in which the file's blocks need them. Checksums are those of inode ino with this
 * generation. Errors: EFBIG (a block number or logical block beyond the form's limit). Linear, allocates nothing.
 */
MUST_CHECK errcode_t file_map_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                                    const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                                    uint8_t root[INODE_ROOT_BYTES], void *blocks);

/*
 * The largest file in bytes that the map and the inode can hold, holes or not; the kernel's own limit (with
 * indirect maps and holes an inode could hold a little more).
 */
uint64_t file_map_max_bytes(const struct ondisk_format *format);
