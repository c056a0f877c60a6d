/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/file_map.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <ext2fs/ext3_extents.h>

#include "support/crc32c.h"
#include "support/vector.h"

#define SECTOR_BITS 9
#define MAX_LOGICAL_END UINT32_MAX /* a block count has 32 bits, too, so the last of 2^32 blocks is never used */
#define MAX_EXTENT_PHYSICAL_END (UINT64_C(1) << 48)
#define MAX_INDIRECT_PHYSICAL_END (UINT64_C(1) << 32)

static uint32_t longest_extent(const struct extent_list *list)
{
	const uint32_t unit = list->unit ? list->unit : 1;

	return list->is_unwritten ? FILE_EXTENT_MAX_UNWRITTEN_BLOCKS & ~(unit - 1) : FILE_EXTENT_MAX_BLOCKS;
}

errcode_t extent_list_add(struct extent_list *list, uint32_t logical, uint64_t physical, uint64_t blocks)
{
	const uint32_t longest = longest_extent(list);
	struct file_extent *last = list->count > list->final ? &list->extents[list->count - 1] : NULL;

	if (last && file_extent_is_unwritten(last) == list->is_unwritten &&
	    last->logical + file_extent_blocks(last) == logical &&
	    last->physical + file_extent_blocks(last) == physical) {
		uint64_t room = longest - file_extent_blocks(last), taken = blocks < room ? blocks : room;

		last->count += (uint32_t)taken;
		logical += (uint32_t)taken;
		physical += taken;
		blocks -= taken;
	}
	while (blocks) {
		uint32_t piece = blocks < longest ? (uint32_t)blocks : longest;
		errcode_t error =
			vector_reserve(&list->extents, &list->capacity, list->count + 1, sizeof(*list->extents));

		if (error)
			return error;
		list->extents[list->count++] = (struct file_extent){
			.logical = logical,
			.count = piece | (list->is_unwritten ? FILE_EXTENT_UNWRITTEN : 0),
			.physical = physical,
		};
		logical += piece;
		physical += piece;
		blocks -= piece;
	}
	return 0;
}

/*
 * The extent tree. Every node but the last of its level is full, so the place of each entry follows from its number
 * alone: the tree is written in one pass over each level and needs no memory of its own.
 */

#define ROOT_ENTRIES ((INODE_ROOT_BYTES - sizeof(struct ext3_extent_header)) / sizeof(struct ext3_extent))
#define MAX_DEPTH 5 /* the kernel reads no deeper tree; 4 * 84^5 extents are more than a file has blocks */

/* The nodes of one level: their range of map_blocks, and the extents that a full node spans. */
struct tree_level {
	uint64_t nodes;
	uint64_t first;      /* index of the first one in map_blocks */
	uint64_t entries;    /* of all its nodes together */
	uint64_t entry_span; /* extents below one entry; 1 in the leaves */
};

/* Level 0 is the root, level `depth` has the extents. */
struct tree_shape {
	unsigned int depth;
	uint64_t blocks; /* all nodes but the root */
	struct tree_level levels[MAX_DEPTH + 1];
};

struct tree_builder {
	const struct ondisk_format *format;
	const struct tree_shape *shape;
	const struct file_extent *extents;
	const uint64_t *map_blocks;
	uint32_t checksum_seed;
};

/*
 * Entries of 12 bytes follow a header of 12. With every block size 4 to 8 bytes remain for the checksum, so the
 * capacity does not depend on metadata_csum.
 */
static uint64_t node_capacity(const struct ondisk_format *format)
{
	return (format->block_bytes - sizeof(struct ext3_extent_header)) / sizeof(struct ext3_extent);
}

static struct tree_shape shape_of(const struct ondisk_format *format, uint64_t count)
{
	struct tree_shape shape = { 0 };
	uint64_t capacity = node_capacity(format);
	uint64_t entries = count;
	uint64_t span = 1;

	for (uint64_t top = count; top > ROOT_ENTRIES; top = (top + capacity - 1) / capacity)
		shape.depth++;
	assert(shape.depth <= MAX_DEPTH);

	for (unsigned int level = shape.depth; level > 0; level--) {
		uint64_t nodes = (entries + capacity - 1) / capacity;

		shape.levels[level] = (struct tree_level){ .nodes = nodes, .entries = entries, .entry_span = span };
		shape.blocks += nodes;
		entries = nodes;
		span *= capacity;
	}
	shape.levels[0] = (struct tree_level){ .nodes = 1, .entries = entries, .entry_span = span };
	for (unsigned int level = 2; level <= shape.depth; level++)
		shape.levels[level].first = shape.levels[level - 1].first + shape.levels[level - 1].nodes;
	return shape;
}

static uint64_t extent_tree_blocks(const struct ondisk_format *format, size_t count)
{
	return shape_of(format, count).blocks;
}

static void write_extents(const struct tree_builder *builder, uint64_t first, uint64_t count, uint8_t *bytes)
{
	for (uint64_t n = 0; n < count; n++) {
		const struct file_extent *extent = &builder->extents[first + n];
		uint32_t blocks = file_extent_blocks(extent);
		struct ext3_extent raw = {
			.ee_block = htole32(extent->logical),
			.ee_len = htole16(extent->count == blocks ? blocks : blocks + FILE_EXTENT_MAX_BLOCKS),
			.ee_start_hi = htole16(extent->physical >> 32),
			.ee_start = htole32((uint32_t)extent->physical),
		};

		memcpy(bytes + n * sizeof(raw), &raw, sizeof(raw));
	}
}

static errcode_t write_indexes(const struct tree_builder *builder, unsigned int level, uint64_t first, uint64_t count,
                               uint8_t *bytes)
{
	const struct tree_level *self = &builder->shape->levels[level];
	const uint64_t *children = builder->map_blocks + self[1].first;

	for (uint64_t n = first; n < first + count; n++) {
		struct ext3_extent_idx raw = {
			.ei_block = htole32(builder->extents[n * self->entry_span].logical),
			.ei_leaf = htole32((uint32_t)children[n]),
			.ei_leaf_hi = htole16(children[n] >> 32),
		};

		if (children[n] >= MAX_EXTENT_PHYSICAL_END)
			return EFBIG;
		memcpy(bytes + (n - first) * sizeof(raw), &raw, sizeof(raw));
	}
	return 0;
}

/* Writes one node of a level: its header, and its entries, numbered first to first+count-1 within the level. */
static errcode_t write_node(const struct tree_builder *builder, unsigned int level, uint64_t first, uint64_t count,
                            uint64_t capacity, uint8_t *bytes)
{
	struct ext3_extent_header header = {
		.eh_magic = htole16(EXT3_EXT_MAGIC),
		.eh_entries = htole16(count),
		.eh_max = htole16(capacity),
		.eh_depth = htole16(builder->shape->depth - level),
	};

	memcpy(bytes, &header, sizeof(header));
	bytes += sizeof(header);
	if (level < builder->shape->depth)
		return write_indexes(builder, level, first, count, bytes);
	write_extents(builder, first, count, bytes);
	return 0;
}

static errcode_t write_level(const struct tree_builder *builder, unsigned int level, uint8_t *blocks)
{
	const struct tree_level *self = &builder->shape->levels[level];
	uint64_t capacity = node_capacity(builder->format);
	size_t checksum_offset = sizeof(struct ext3_extent_header) + capacity * sizeof(struct ext3_extent);

	for (uint64_t node = 0; node < self->nodes; node++) {
		uint8_t *bytes = blocks + (self->first + node) * builder->format->block_bytes;
		uint64_t first = node * capacity;
		uint64_t count = self->entries - first < capacity ? self->entries - first : capacity;

		memset(bytes, 0, builder->format->block_bytes);

		errcode_t error = write_node(builder, level, first, count, capacity, bytes);
		if (error)
			return error;
		if (builder->format->checksums) {
			uint32_t checksum = htole32(crc32c(builder->checksum_seed, bytes, checksum_offset));

			memcpy(bytes + checksum_offset, &checksum, sizeof(checksum));
		}
	}
	return 0;
}

static errcode_t extent_tree_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                                   const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                                   uint8_t root[INODE_ROOT_BYTES], void *blocks)
{
	const struct tree_shape shape = shape_of(format, count);
	const struct tree_builder builder = {
		.format = format,
		.shape = &shape,
		.extents = extents,
		.map_blocks = map_blocks,
		.checksum_seed = format->checksums ? ondisk_inode_seed(format, ino, generation) : 0,
	};

	for (unsigned int level = shape.depth; level > 0; level--) {
		errcode_t error = write_level(&builder, level, blocks);

		if (error)
			return error;
	}
	memset(root, 0, INODE_ROOT_BYTES);
	return write_node(&builder, 0, 0, shape.levels[0].entries, ROOT_ENTRIES, root);
}

/*
 * The indirect map. i_block holds 12 block numbers and then one indirect, one double indirect and one triple indirect
 * block. Blocks come in ascending order, so only the open indirect block of each height is remembered. Counting and
 * building are the same walk; counting has no output.
 */

#define DIRECT_BLOCKS EXT2_NDIR_BLOCKS
#define MAX_HEIGHT 3 /* triple indirect */

struct open_block {
	uint64_t number; /* index among the blocks of its height in this area, holes included */
	uint64_t index;  /* in map_blocks */
};

struct map_walk {
	unsigned int address_bits; /* log2(block numbers in a block) */
	size_t block_bytes;
	unsigned int height;                    /* of the open area: 1 to 3; 0: none */
	struct open_block open[MAX_HEIGHT + 1]; /* by height: 1 has numbers of data blocks */
	uint64_t next_index;                    /* index of the next of map_blocks */

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

/* Opens the indirect blocks above the area's block `offset`. A new block invalidates the open ones below it. */
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

/* Stores a run of data blocks in the open block of that height. */
static void store_run(const struct map_walk *walk, unsigned int height, uint64_t slot, uint64_t physical,
                      uint64_t count)
{
	if (!walk->root)
		return;

	uint8_t *numbers = height > 0 ? open_bytes(walk, 1) : walk->root;

	for (uint64_t n = 0; n < count; n++)
		store_number(numbers, slot + n, physical + n);
}

/* Finds a logical block's area and its offset there; height 0 is i_block itself. EFBIG after the last area. */
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

/* Walks the part of a run that one array of block numbers holds; *done is its length. */
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

static uint64_t indirect_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count)
{
	struct map_walk walk = walk_start(format);

	for (size_t n = 0; n < count; n++) {
		/* Blocks beyond the map's reach are not counted; building reports them. */
		if (walk_extent(&walk, &extents[n]))
			break;
	}
	return walk.next_index;
}

static errcode_t indirect_map_build(const struct ondisk_format *format, const struct file_extent *extents, size_t count,
                                    const uint64_t *map_blocks, uint8_t root[INODE_ROOT_BYTES], void *blocks)
{
	struct map_walk walk = walk_start(format);
	errcode_t error = 0;

	walk.map_blocks = map_blocks;
	walk.root = root;
	walk.blocks = blocks;
	memset(root, 0, INODE_ROOT_BYTES);

	for (size_t n = 0; !error && n < count; n++)
		error = walk_extent(&walk, &extents[n]);
	return error;
}

static uint64_t indirect_map_reach(const struct ondisk_format *format)
{
	struct map_walk walk = walk_start(format);
	uint64_t reach = DIRECT_BLOCKS;

	for (unsigned int height = 1; height <= MAX_HEIGHT; height++)
		reach += area_blocks(&walk, height);
	return reach;
}

static uint64_t indirect_map_blocks_of_dense(const struct ondisk_format *format, uint64_t data_blocks)
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

uint64_t file_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count)
{
	return format->extents ? extent_tree_blocks(format, count) : indirect_map_blocks(format, extents, count);
}

static errcode_t check_extents(const struct ondisk_format *format, const struct file_extent *extents, size_t count)
{
	const uint64_t physical_end = format->extents ? MAX_EXTENT_PHYSICAL_END : MAX_INDIRECT_PHYSICAL_END;

	for (size_t n = 0; n < count; n++) {
		const struct file_extent *extent = &extents[n];
		const uint64_t blocks = file_extent_blocks(extent);
		const bool is_unwritten = extent->count != blocks;

		assert(blocks >= 1 && blocks + is_unwritten <= FILE_EXTENT_MAX_BLOCKS);
		assert(format->extents || !is_unwritten);
		assert(n == 0 || extent[-1].logical + (uint64_t)file_extent_blocks(&extent[-1]) <= extent->logical);
		if (extent->logical + blocks > MAX_LOGICAL_END || extent->physical >= physical_end ||
		    extent->physical + blocks > physical_end)
			return EFBIG;
	}
	return 0;
}

errcode_t file_map_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                         const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                         uint8_t root[INODE_ROOT_BYTES], void *blocks)
{
	errcode_t error = check_extents(format, extents, count);

	if (error)
		return error;
	if (format->extents)
		return extent_tree_build(format, ino, generation, extents, count, map_blocks, root, blocks);
	return indirect_map_build(format, extents, count, map_blocks, root, blocks);
}

/*
 * The blocks that i_blocks can count for a file without holes, its map included. The map's size is that of a file of
 * the limit, a few blocks too much, because the kernel does so, and refuses access beyond its own limit.
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
	uint64_t max_blocks = MAX_LOGICAL_END;

	if (!format->extents) {
		/* 48 bits with huge_file, in sectors for the kernel's limit, although i_blocks can count blocks. */
		uint64_t countable = format->huge_file ? (UINT64_C(1) << 48) - 1 : UINT32_MAX >> sector_shift;
		uint64_t mappable = max_blocks_of_indirect_map(format, countable);

		max_blocks = mappable < max_blocks ? mappable : max_blocks;
	} else if (!format->huge_file) {
		max_blocks = UINT32_MAX >> sector_shift;
	}
	return max_blocks << format->block_bits;
}
