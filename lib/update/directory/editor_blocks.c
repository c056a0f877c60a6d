/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/editor_blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2_err.h>

#include "ondisk/views.h"

#define FIRST_BUCKETS 64u
#define MOST_CLEAN_BYTES (16u << 20) /* the index of a directory of a million names, and some thousand leaves */

errcode_t editor_blocks_open(struct editor_blocks *blocks, const struct file_extent *extents, size_t extent_count,
                             uint32_t count)
{
	uint64_t next = 0;

	for (size_t i = 0; i < extent_count; i++) {
		if (extents[i].count & FILE_EXTENT_UNWRITTEN || !extents[i].count || extents[i].logical != next)
			return EXT2_ET_DIR_CORRUPTED;
		next += extents[i].count;
		errcode_t error =
			extent_list_add(&blocks->map, extents[i].logical, extents[i].physical, extents[i].count);

		if (error)
			return error;
	}
	if (next != count)
		return EXT2_ET_DIR_CORRUPTED;
	blocks->mapped = blocks->count = count;
	blocks->bucket_count = FIRST_BUCKETS;
	blocks->buckets = calloc(FIRST_BUCKETS, sizeof(*blocks->buckets));
	return blocks->buckets ? 0 : ENOMEM;
}

void editor_blocks_close(struct editor_blocks *blocks)
{
	for (uint32_t bucket = 0; bucket < blocks->bucket_count && blocks->buckets; bucket++) {
		for (struct editor_block *block = blocks->buckets[bucket], *next; block; block = next) {
			next = block->next;
			free(block);
		}
	}
	free(blocks->buckets);
	free(blocks->map.extents);
}

/* Returns the block's number on the disk. */
static uint64_t physical_of(const struct editor_blocks *blocks, uint32_t logical)
{
	size_t low = 0, high = blocks->map.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (blocks->map.extents[middle].logical > logical)
			high = middle;
		else
			low = middle;
	}
	return blocks->map.extents[low].physical + (logical - blocks->map.extents[low].logical);
}

static struct editor_block **bucket_of(const struct editor_blocks *blocks, uint32_t logical)
{
	return &blocks->buckets[logical & (blocks->bucket_count - 1)];
}

/* Keeps more buckets than blocks. If there is no memory for more, the lists become longer. */
static void grow_buckets(struct editor_blocks *blocks)
{
	struct editor_block **old = blocks->buckets;
	const uint32_t old_count = blocks->bucket_count;
	struct editor_block **more = calloc(2 * (size_t)old_count, sizeof(*more));

	if (!more)
		return;
	blocks->buckets = more;
	blocks->bucket_count = 2 * old_count;
	for (uint32_t bucket = 0; bucket < old_count; bucket++) {
		for (struct editor_block *block = old[bucket], *next; block; block = next) {
			struct editor_block **to = bucket_of(blocks, block->logical);

			next = block->next;
			block->next = *to;
			*to = block;
		}
	}
	free(old);
}

static void enter(struct editor_blocks *blocks, struct editor_block *block)
{
	if (blocks->cached >= blocks->bucket_count)
		grow_buckets(blocks);
	struct editor_block **bucket = bucket_of(blocks, block->logical);

	block->next = *bucket;
	*bucket = block;
	blocks->cached++;
}

static errcode_t check(const struct editor_blocks *blocks, struct editor_block *block)
{
	const struct ondisk_format *format = blocks->format;
	struct index_block index;
	struct index_info info;

	if (!directory_block_checksum_fits(format, blocks->inode_seed, block->bytes))
		return EXT2_ET_DIR_CSUM_INVALID;
	if (block->kind == BLOCK_ROOT) {
		errcode_t error = index_root_read(format, blocks->ino, block->bytes, &index, &info);

		return error ? error : info.parent > blocks->inode_count ? EXT2_ET_DIR_CORRUPTED : 0;
	}
	if (block->kind != BLOCK_LEAF)
		return index_node_read(format, block->bytes, &index);
	return entry_block_is_sound(editor_block_entries(blocks, block), blocks->inode_count) ? 0 :
	                                                                                        EXT2_ET_DIR_CORRUPTED;
}

errcode_t editor_blocks_get(struct editor_blocks *blocks, uint32_t logical, unsigned int kind,
                            struct editor_block **ret)
{
	if (logical >= blocks->count)
		return EXT2_ET_DIR_CORRUPTED;
	for (*ret = *bucket_of(blocks, logical); *ret; *ret = (*ret)->next)
		if ((*ret)->logical == logical)
			return (*ret)->kind == kind ? 0 : EXT2_ET_DIR_CORRUPTED;
	/* New blocks are changed ones, so they were found above. */
	assert(logical < blocks->mapped);
	SCOPE_FREE struct editor_block *block = malloc(sizeof(*block) + blocks->format->block_bytes);

	if (!block)
		return ENOMEM;
	block->logical = logical;
	block->kind = kind;
	block->is_dirty = false;
	errcode_t error = sink_read(blocks->sink, physical_of(blocks, logical), 1, block->bytes);

	if (!error)
		error = check(blocks, block);
	if (error)
		return error;
	*ret = TAKE(block);
	enter(blocks, *ret);
	return 0;
}

errcode_t editor_blocks_append(struct editor_blocks *blocks, unsigned int kind, struct editor_block **ret)
{
	struct editor_block *block = calloc(1, sizeof(*block) + blocks->format->block_bytes);

	if (!block)
		return ENOMEM;
	block->logical = blocks->count++;
	block->kind = kind;
	enter(blocks, block);
	editor_blocks_change(blocks, block);
	*ret = block;
	return 0;
}

void editor_blocks_change(struct editor_blocks *blocks, struct editor_block *block)
{
	blocks->dirty += !block->is_dirty;
	block->is_dirty = true;
}

void editor_blocks_trim(struct editor_blocks *blocks)
{
	if (blocks->cached - blocks->dirty <= MOST_CLEAN_BYTES >> blocks->format->block_bits)
		return;
	for (uint32_t bucket = 0; bucket < blocks->bucket_count; bucket++) {
		struct editor_block **link = &blocks->buckets[bucket];

		while (*link) {
			struct editor_block *block = *link;

			if (block->is_dirty) {
				link = &block->next;
				continue;
			}
			*link = block->next;
			blocks->cached--;
			free(block);
		}
	}
}

struct index_block editor_block_index(const struct editor_blocks *blocks, struct editor_block *block)
{
	struct index_block index;
	struct index_info info;
	errcode_t error = block->kind == BLOCK_ROOT ?
	                          index_root_read(blocks->format, blocks->ino, block->bytes, &index, &info) :
	                          index_node_read(blocks->format, block->bytes, &index);

	assert(!error);
	(void)error;
	return index;
}

static int compare_blocks(const void *left, const void *right)
{
	const struct editor_block *a = *(struct editor_block *const *)left, *b = *(struct editor_block *const *)right;

	return (a->logical > b->logical) - (a->logical < b->logical);
}

static void seal(const struct editor_blocks *blocks, struct editor_block *block)
{
	if (block->kind == BLOCK_LEAF) {
		directory_block_seal(blocks->format, block->bytes, blocks->inode_seed);
		return;
	}
	struct index_block index = editor_block_index(blocks, block);

	index_block_seal(blocks->format, &index, blocks->inode_seed);
}

errcode_t editor_blocks_write(struct editor_blocks *blocks)
{
	SCOPE_FREE struct editor_block **dirty = malloc(((size_t)blocks->dirty + 1) * sizeof(struct editor_block *));
	size_t count = 0;

	if (!dirty)
		return ENOMEM;
	for (uint32_t bucket = 0; bucket < blocks->bucket_count; bucket++)
		for (struct editor_block *block = blocks->buckets[bucket]; block; block = block->next)
			if (block->is_dirty)
				dirty[count++] = block;
	qsort(dirty, count, sizeof(struct editor_block *), compare_blocks);
	for (size_t i = 0; i < count; i++) {
		seal(blocks, dirty[i]);
		errcode_t error = sink_write(blocks->sink, physical_of(blocks, dirty[i]->logical), 1, dirty[i]->bytes);

		if (error)
			return error;
		dirty[i]->is_dirty = false;
		blocks->dirty--;
	}
	return 0;
}
