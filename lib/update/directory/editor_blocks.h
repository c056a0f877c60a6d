/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a directory that is being changed. A block is read and checked when it is first asked for. It stays in
 * memory from then on if it is changed. New blocks are at the end, and have no place on the disk until they are
 * written. One thread.
 */
#pragma once

#include "image/sink.h"
#include "ondisk/entry_block.h"
#include "ondisk/file_map.h"
#include "ondisk/index_block.h"

/*
 * A block's kind: 0 for a leaf or a block of a linear directory; a node's kind is its number of levels above the
 * leaves.
 */
#define BLOCK_LEAF 0u
#define BLOCK_ROOT 255u

struct editor_block {
	struct editor_block *next; /* of its bucket */
	uint32_t logical;
	uint8_t kind;
	bool is_dirty;
	uint8_t bytes[];
};

struct editor_blocks {
	struct sink *sink;
	const struct ondisk_format *format;
	uint32_t ino, inode_seed, inode_count;

	struct extent_list map;
	uint32_t mapped; /* blocks that the map has; the blocks from here to count are new */
	uint32_t count;

	struct editor_block **buckets; /* bucket_count of them, a power of two */
	uint32_t bucket_count, cached, dirty;
};

/* Copies the map, which must have each of the `count` blocks. EXT2_ET_DIR_CORRUPTED, ENOMEM. */
MUST_CHECK errcode_t editor_blocks_open(struct editor_blocks *blocks, const struct file_extent *extents,
                                        size_t extent_count, uint32_t count);
void editor_blocks_close(struct editor_blocks *blocks);

/*
 * Gets a block, which must be of that kind; it is valid until editor_blocks_trim(). EXT2_ET_DIR_CORRUPTED (it is of
 * another kind, or not in the directory), EXT2_ET_DIR_CSUM_INVALID, ENOMEM, errors of reading.
 */
MUST_CHECK errcode_t editor_blocks_get(struct editor_blocks *blocks, uint32_t logical, unsigned int kind,
                                       struct editor_block **ret);

/* Appends a block, which is filled with zeros and counts as changed. ENOMEM. */
MUST_CHECK errcode_t editor_blocks_append(struct editor_blocks *blocks, unsigned int kind, struct editor_block **ret);

void editor_blocks_change(struct editor_blocks *blocks, struct editor_block *block);

/* Drops unchanged blocks if they take much memory. */
void editor_blocks_trim(struct editor_blocks *blocks);

/* Writes all changed blocks, in order, to their places in the map. ENOMEM, errors of writing. */
MUST_CHECK errcode_t editor_blocks_write(struct editor_blocks *blocks);

static inline struct entry_block editor_block_entries(const struct editor_blocks *blocks, struct editor_block *block)
{
	return entry_block_of(blocks->format, block->bytes);
}

/* Returns the children of a root or node that editor_blocks_get() has checked. */
struct index_block editor_block_index(const struct editor_blocks *blocks, struct editor_block *block);
