/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a file's blocks are: an extent tree, or the indirect map of filesystems without extents. Values in,
 * bytes out. The two have the same shape, so a caller asks the format once and not at every step.
 */
#pragma once

#include <stddef.h>

#include "ondisk/inode.h"

/* Blocks logical .. logical+count-1 of a file stand at physical .. physical+count-1. */
struct file_extent {
	uint32_t logical;
	uint32_t count; /* 1 to FILE_EXTENT_MAX_BLOCKS; or 1 to ..._UNWRITTEN_BLOCKS, with FILE_EXTENT_UNWRITTEN */
	uint64_t physical;
};

#define FILE_EXTENT_MAX_BLOCKS 32768 /* of an initialised extent */
#define FILE_EXTENT_MAX_UNWRITTEN_BLOCKS 32767
#define FILE_EXTENT_UNWRITTEN 0x80000000u /* in count: reads as zeros, as fallocate(2) leaves it; extent trees only */

/* The extents of a file, ascending, while they are collected. Zero-initialise. */
struct extent_list {
	struct file_extent *extents; /* owned; freed with free() */
	size_t count, capacity;
	bool is_unwritten; /* all of them are, or none */
};

/* Adds blocks after all others, joined to the last extent where they continue it; no extent exceeds what maps hold. */
MUST_CHECK errcode_t extent_list_add(struct extent_list *list, uint32_t logical, uint64_t physical, uint64_t blocks);

/*
 * How many blocks in addition to i_block the map of these extents needs: extent tree nodes, or indirect blocks.
 * extents ascend, do not overlap, and each is 1 to FILE_EXTENT_MAX_BLOCKS long. Neighbours that could be one
 * extent are not joined. Constant time with extents; linear in the indirect blocks without.
 */
uint64_t file_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count);

/*
 * Writes the map: root gets i_block; blocks gets file_map_blocks() blocks, the n-th to be written at block
 * number map_blocks[n] (both may be NULL when there are none). Each block comes before those that it points to,
 * so map_blocks that ascend are read forwards: an extent tree goes level by level from the root down, each level
 * from left to right; indirect blocks come in the order in which the file's blocks need them. Checksums are those
 * of inode ino with this generation. Errors: EFBIG (a block number or logical block beyond what the form can
 * hold). Linear, needs no memory of its own.
 */
MUST_CHECK errcode_t file_map_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                                    const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                                    uint8_t root[INODE_ROOT_BYTES], void *blocks);

/*
 * The largest file in bytes that the map and the inode can hold, holes or not; the kernel's own limit (with
 * indirect maps and holes an inode could hold a little more).
 */
uint64_t file_map_max_bytes(const struct ondisk_format *format);
