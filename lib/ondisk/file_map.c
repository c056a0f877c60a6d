/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/file_map.h"

#include "ondisk/extent_tree.h"
#include "ondisk/indirect_map.h"

#define SECTOR_BITS 9
#define MAX_LOGICAL_BLOCKS UINT64_C(0xffffffff) /* a block count, too, has 32 bits; so the last block is never used */

uint64_t file_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count)
{
	return format->extents ? extent_tree_blocks(format, count) : indirect_map_blocks(format, extents, count);
}

errcode_t file_map_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                         const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                         uint8_t root[INODE_ROOT_BYTES], void *blocks)
{
	if (format->extents)
		return extent_tree_build(format, ino, generation, extents, count, map_blocks, root, blocks);
	return indirect_map_build(format, extents, count, map_blocks, root, blocks);
}

/*
 * What a file without holes can record in i_blocks, its map included. The map is taken off at the size of the
 * limit, a few blocks too much, because the kernel does so, and refuses to touch what is beyond its own limit.
 */
static uint64_t max_blocks_of_indirect_map(const struct ondisk_format *format, uint64_t countable)
{
	uint64_t reach = indirect_map_reach(format);

	if (reach + indirect_map_blocks_of_dense(format, reach) <= countable)
		return reach;
	return countable - indirect_map_blocks_of_dense(format, countable);
}

uint64_t file_map_max_bytes(const struct ondisk_format *format)
{
	unsigned int sector_shift = format->block_bits - SECTOR_BITS;
	uint64_t max_blocks = MAX_LOGICAL_BLOCKS;

	if (!format->extents) {
		/* 48 bits of them with huge_file, in sectors for the kernel's limit, though i_blocks could say more. */
		uint64_t countable = format->huge_file ? (UINT64_C(1) << 48) - 1 : UINT32_MAX >> sector_shift;
		uint64_t mappable = max_blocks_of_indirect_map(format, countable);

		max_blocks = mappable < max_blocks ? mappable : max_blocks;
	} else if (!format->huge_file) {
		max_blocks = UINT32_MAX >> sector_shift;
	}
	return max_blocks << format->block_bits;
}
