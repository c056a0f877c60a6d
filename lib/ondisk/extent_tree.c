/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every node but the last of its level is full, so the place of each entry follows from its number alone:
 * the tree is written in one pass over each level and needs no memory of its own.
 */
#include "ondisk/extent_tree.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <ext2fs/ext3_extents.h>

#include "support/crc32c.h"

#define ROOT_ENTRIES ((INODE_ROOT_BYTES - sizeof(struct ext3_extent_header)) / sizeof(struct ext3_extent))
#define MAX_DEPTH 5 /* the kernel reads no deeper tree; 4 * 84^5 extents are more than a file has blocks */
#define MAX_LOGICAL_END UINT32_MAX /* the last of 2^32 blocks cannot be counted and is not used */
#define MAX_PHYSICAL_END (UINT64_C(1) << 48)

/* The nodes of one level: which of map_blocks they are, and how many extents a full one spans. */
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
 * Entries of 12 bytes follow a header of 12. Of every block size some 4 to 8 bytes are left over, where the
 * checksum lies: the capacity does not depend on metadata_csum.
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

uint64_t extent_tree_blocks(const struct ondisk_format *format, size_t count)
{
	return shape_of(format, count).blocks;
}

static uint32_t blocks_of(const struct file_extent *extent)
{
	return extent->count & ~FILE_EXTENT_UNWRITTEN;
}

static errcode_t write_extents(const struct tree_builder *builder, uint64_t first, uint64_t count, uint8_t *bytes)
{
	for (uint64_t n = 0; n < count; n++) {
		const struct file_extent *extent = &builder->extents[first + n];
		uint32_t blocks = blocks_of(extent);
		bool is_unwritten = extent->count != blocks;
		struct ext3_extent raw = {
			.ee_block = htole32(extent->logical),
			.ee_len = htole16(is_unwritten ? blocks + FILE_EXTENT_MAX_BLOCKS : blocks),
			.ee_start_hi = htole16(extent->physical >> 32),
			.ee_start = htole32((uint32_t)extent->physical),
		};

		assert(blocks >= 1 && blocks + is_unwritten <= FILE_EXTENT_MAX_BLOCKS);
		assert(first + n == 0 || extent[-1].logical + (uint64_t)blocks_of(&extent[-1]) <= extent->logical);
		if (extent->logical + (uint64_t)blocks > MAX_LOGICAL_END)
			return EFBIG;
		if (extent->physical >= MAX_PHYSICAL_END || extent->physical + blocks > MAX_PHYSICAL_END)
			return EFBIG;
		memcpy(bytes + n * sizeof(raw), &raw, sizeof(raw));
	}
	return 0;
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

		if (children[n] >= MAX_PHYSICAL_END)
			return EFBIG;
		memcpy(bytes + (n - first) * sizeof(raw), &raw, sizeof(raw));
	}
	return 0;
}

/* One node of a level: its header, and its entries, numbered first to first+count-1 within the level. */
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
	if (level == builder->shape->depth)
		return write_extents(builder, first, count, bytes);
	return write_indexes(builder, level, first, count, bytes);
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

errcode_t extent_tree_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                            const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                            uint8_t root[INODE_ROOT_BYTES], void *blocks)
{
	struct tree_shape shape = shape_of(format, count);
	struct tree_builder builder = {
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
