/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * i_block holds 12 block numbers and then one indirect, one double indirect and one triple indirect block.
 * Blocks are met in ascending order, so all that has to be remembered is the indirect block that is open at
 * each height; counting and building are the same walk, one without output.
 */
#include "ondisk/indirect_map.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define DIRECT_BLOCKS EXT2_NDIR_BLOCKS
#define MAX_HEIGHT 3               /* triple indirect */
#define MAX_LOGICAL_END UINT32_MAX /* as with extents: the last of 2^32 blocks is not used */

struct open_block {
	uint64_t number; /* which of the blocks of its height in this area, counted with those that are holes */
	uint64_t index;  /* in map_blocks */
};

struct map_walk {
	unsigned int address_bits; /* log2(block numbers in a block) */
	size_t block_bytes;
	unsigned int height;                    /* of the area that is open: 1 to 3; 0: none */
	struct open_block open[MAX_HEIGHT + 1]; /* by height: 1 holds numbers of data blocks */
	uint64_t next_index;                    /* the next of map_blocks; the number of blocks so far */

	/* Output. */
	uint8_t *root; /* NULL when only counting */
	const uint64_t *map_blocks;
	uint8_t *blocks;
};

static struct map_walk walk_start(const struct ondisk_format *format)
{
	return (struct map_walk){
		.address_bits = format->block_bits - 2,
		.block_bytes = format->block_bytes,
	};
}

static uint64_t area_blocks(const struct map_walk *walk, unsigned int height)
{
	return UINT64_C(1) << (height * walk->address_bits);
}

static void store_number(uint8_t *numbers, uint64_t slot, uint64_t block)
{
	uint32_t raw = htole32((uint32_t)block);

	memcpy(numbers + slot * sizeof(raw), &raw, sizeof(raw));
}

static uint8_t *open_bytes(const struct map_walk *walk, unsigned int height)
{
	return walk->blocks + walk->open[height].index * walk->block_bytes;
}

/* Takes the next block of the map for this height and enters it one height above. */
static errcode_t open_next(struct map_walk *walk, unsigned int height, uint64_t number)
{
	uint64_t index = walk->next_index++;

	walk->open[height] = (struct open_block){ .number = number, .index = index };
	if (!walk->root)
		return 0;
	if (walk->map_blocks[index] > UINT32_MAX)
		return EFBIG;
	memset(open_bytes(walk, height), 0, walk->block_bytes);
	if (height == walk->height) {
		store_number(walk->root, DIRECT_BLOCKS + height - 1, walk->map_blocks[index]);
	} else {
		uint64_t slot = number & ((UINT64_C(1) << walk->address_bits) - 1);

		store_number(open_bytes(walk, height + 1), slot, walk->map_blocks[index]);
	}
	return 0;
}

/* Makes the blocks above the area's block `offset` the open ones. Below a new block no number is the open one's. */
static errcode_t open_path(struct map_walk *walk, unsigned int area_height, uint64_t offset)
{
	bool is_new_area = walk->height != area_height;

	walk->height = area_height;
	for (unsigned int height = area_height; height > 0; height--) {
		uint64_t number = offset >> (height * walk->address_bits);

		if (is_new_area || walk->open[height].number != number) {
			errcode_t error = open_next(walk, height, number);

			if (error)
				return error;
		}
	}
	return 0;
}

/* Enters a run of data blocks where the block numbers of that height lie. */
static void store_run(const struct map_walk *walk, unsigned int height, uint64_t slot, uint64_t physical,
                      uint64_t count)
{
	if (!walk->root)
		return;

	uint8_t *numbers = height > 0 ? open_bytes(walk, 1) : walk->root;

	for (uint64_t n = 0; n < count; n++)
		store_number(numbers, slot + n, physical + n);
}

/* Which area a logical block is in, and where; height 0 is i_block itself. EFBIG beyond the last. */
static errcode_t find_area(const struct map_walk *walk, uint64_t logical, unsigned int *height, uint64_t *offset)
{
	*height = 0;
	*offset = logical;
	if (logical < DIRECT_BLOCKS)
		return 0;
	*offset -= DIRECT_BLOCKS;
	for (*height = 1; *offset >= area_blocks(walk, *height); ++*height) {
		if (*height == MAX_HEIGHT)
			return EFBIG;
		*offset -= area_blocks(walk, *height);
	}
	return 0;
}

/* The part of a run that one array of block numbers holds; *done is its length. */
static errcode_t walk_part(struct map_walk *walk, uint64_t logical, uint64_t physical, uint64_t count, uint64_t *done)
{
	unsigned int height;
	uint64_t slot;
	uint64_t capacity = DIRECT_BLOCKS;

	errcode_t error = find_area(walk, logical, &height, &slot);
	if (error)
		return error;
	if (height > 0) {
		error = open_path(walk, height, slot);
		if (error)
			return error;
		capacity = UINT64_C(1) << walk->address_bits;
		slot &= capacity - 1;
	}
	*done = count < capacity - slot ? count : capacity - slot;
	store_run(walk, height, slot, physical, *done);
	return 0;
}

static errcode_t walk_extent(struct map_walk *walk, const struct file_extent *extent)
{
	uint64_t done;

	for (uint64_t offset = 0; offset < extent->count; offset += done) {
		errcode_t error = walk_part(walk, extent->logical + offset, extent->physical + offset,
		                            extent->count - offset, &done);

		if (error)
			return error;
	}
	return 0;
}

uint64_t indirect_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count)
{
	struct map_walk walk = walk_start(format);

	for (size_t n = 0; n < count; n++) {
		/* What is beyond the reach has no blocks; indirect_map_build() says so. */
		if (walk_extent(&walk, &extents[n]))
			break;
	}
	return walk.next_index;
}

errcode_t indirect_map_build(const struct ondisk_format *format, const struct file_extent *extents, size_t count,
                             const uint64_t *map_blocks, uint8_t root[INODE_ROOT_BYTES], void *blocks)
{
	struct map_walk walk = walk_start(format);

	walk.map_blocks = map_blocks;
	walk.root = root;
	walk.blocks = blocks;
	memset(root, 0, INODE_ROOT_BYTES);
	for (size_t n = 0; n < count; n++) {
		const struct file_extent *extent = &extents[n];

		assert(extent->count >= 1 && extent->count <= FILE_EXTENT_MAX_BLOCKS);
		assert(n == 0 || extent[-1].logical + (uint64_t)extent[-1].count <= extent->logical);
		if (extent->logical + (uint64_t)extent->count > MAX_LOGICAL_END)
			return EFBIG;
		if (extent->physical > UINT32_MAX || extent->physical + extent->count - 1 > UINT32_MAX)
			return EFBIG;

		errcode_t error = walk_extent(&walk, extent);
		if (error)
			return error;
	}
	return 0;
}

uint64_t indirect_map_reach(const struct ondisk_format *format)
{
	struct map_walk walk = walk_start(format);
	uint64_t reach = DIRECT_BLOCKS;

	for (unsigned int height = 1; height <= MAX_HEIGHT; height++)
		reach += area_blocks(&walk, height);
	return reach;
}

uint64_t indirect_map_blocks_of_dense(const struct ondisk_format *format, uint64_t data_blocks)
{
	struct map_walk walk = walk_start(format);
	uint64_t left = data_blocks > DIRECT_BLOCKS ? data_blocks - DIRECT_BLOCKS : 0;
	uint64_t blocks = 0;

	for (unsigned int area = 1; area <= MAX_HEIGHT && left > 0; area++) {
		uint64_t covered = left < area_blocks(&walk, area) ? left : area_blocks(&walk, area);

		for (unsigned int height = 1; height <= area; height++)
			blocks += (covered + area_blocks(&walk, height) - 1) >> (height * walk.address_bits);
		left -= covered;
	}
	return blocks;
}
