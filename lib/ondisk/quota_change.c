/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/quota_change.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2fs.h>

#include "ondisk/file_map.h"
#include "ondisk/inode_store.h"
#include "ondisk/map_scan.h"
#include "ondisk/quota_tree.h"
#include "support/bisect.h"
#include "support/vector.h"

/* Blocks that one owner's change writes at most: its way through the tree, its entry's, two neighbours in a list, and
 * a free one. Each file: the header, its inode, its map. */
#define BLOCKS_OF_CHANGE 8
#define BLOCKS_OF_FILE 6

errcode_t quota_changes_add(struct quota_changes *changes, enum quota_type type, uint32_t id, int64_t inodes,
                            int64_t space_bytes)
{
	return usage_by_id_add(&changes->types[type], id, (uint64_t)inodes, (uint64_t)space_bytes);
}

errcode_t quota_changes_charge(struct quota_changes *changes, const struct ondisk_format *format,
                               const struct inode_value *owner, int64_t inodes, int64_t blocks)
{
	const uint32_t owners[QUOTA_TYPES] = { owner->uid, owner->gid, owner->project };
	int64_t space_bytes = (int64_t)((uint64_t)blocks << format->block_bits);
	errcode_t error = 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++)
		error = quota_changes_add(changes, (enum quota_type)type, owners[type], inodes, space_bytes);
	return error;
}

uint64_t quota_changes_most_blocks(const struct quota_changes *changes)
{
	uint64_t most = 0;

	for (int type = 0; type < QUOTA_TYPES; type++)
		most += changes->types[type].count * BLOCKS_OF_CHANGE +
		        (changes->types[type].count ? BLOCKS_OF_FILE : 0);
	return most;
}

void quota_changes_free(struct quota_changes *changes)
{
	for (int type = 0; type < QUOTA_TYPES; type++)
		usage_by_id_free(&changes->types[type]);
}

/* --- a quota file in a filesystem --------------------------------------------------------------------------------- */

struct cached_block {
	uint64_t block; /* of the filesystem */
	uint8_t *bytes; /* owned */
	bool is_changed;
};

struct quota_file {
	struct quota_blocks blocks; /* first: the functions below get this */
	struct map_scan scan;
	struct block_access *access;
	uint32_t ino;
	struct inode_decoded inode;
	struct extent_list extents;
	uint64_t *map_blocks; /* owned, in the map's own order */
	size_t map_count, map_capacity;
	struct cached_block *cache; /* owned, ascending */
	size_t cache_count, cache_capacity;
	bool has_grown, has_new_blocks;
};

static struct quota_file *file_of_scan(struct map_scan *scan)
{
	return (struct quota_file *)((char *)scan - offsetof(struct quota_file, scan));
}

static errcode_t note_extent(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
                             bool is_unwritten)
{
	return is_unwritten ? EUCLEAN :
	                      extent_list_add(&file_of_scan(scan)->extents, (uint32_t)logical, physical, count);
}

static errcode_t add_map_block(struct quota_file *file, uint64_t block)
{
	errcode_t error =
		vector_reserve(&file->map_blocks, &file->map_capacity, file->map_count + 1, sizeof(*file->map_blocks));

	if (!error)
		file->map_blocks[file->map_count++] = block;
	return error;
}

static errcode_t note_map_block(struct map_scan *scan, uint64_t block)
{
	return add_map_block(file_of_scan(scan), block);
}

/* The block of the filesystem to which a logical one is mapped; 0: none. */
static uint64_t physical_of(const struct quota_file *file, uint64_t logical)
{
	const struct file_extent *extents = file->extents.extents;
	size_t index = BISECT(file->extents.count, n, (uint64_t)extents[n].logical + extents[n].count > logical);

	if (index == file->extents.count || extents[index].logical > logical)
		return 0;
	return extents[index].physical + (logical - extents[index].logical);
}

/* The block's place in the cache. is_new: it is zeros, and not read. */
static errcode_t load(struct quota_file *file, uint64_t block, bool is_new, struct cached_block **cached)
{
	size_t index = BISECT(file->cache_count, n, file->cache[n].block >= block);

	if (index < file->cache_count && file->cache[index].block == block) {
		*cached = &file->cache[index];
		return 0;
	}
	SCOPE_FREE uint8_t *bytes = calloc(1, file->access->format->block_bytes);
	errcode_t error =
		vector_reserve(&file->cache, &file->cache_capacity, file->cache_count + 1, sizeof(*file->cache));

	if (!bytes || error)
		return ENOMEM;
	error = is_new ? 0 : file->access->read(file->access, block, bytes);
	if (error)
		return error;
	memmove(file->cache + index + 1, file->cache + index, (file->cache_count - index) * sizeof(*file->cache));
	file->cache_count++;
	file->cache[index] = (struct cached_block){ block, TAKE(bytes), is_new };
	*cached = &file->cache[index];
	return 0;
}

static uint64_t logical_of(const struct quota_file *file, uint32_t number)
{
	return (uint64_t)number * QUOTA_BLOCK_BYTES >> file->access->format->block_bits;
}

static errcode_t find_bytes(struct quota_file *file, uint32_t number, struct cached_block **cached, uint8_t **bytes)
{
	uint64_t block = physical_of(file, logical_of(file, number));

	if (!block)
		return EUCLEAN;
	errcode_t error = load(file, block, false, cached);

	if (!error)
		*bytes = (*cached)->bytes +
		         ((uint64_t)number * QUOTA_BLOCK_BYTES & (file->access->format->block_bytes - 1));
	return error;
}

static errcode_t read_block(struct quota_blocks *blocks, uint32_t number, void *bytes)
{
	struct quota_file *file = (struct quota_file *)blocks;
	struct cached_block *cached;
	uint8_t *found;
	errcode_t error = find_bytes(file, number, &cached, &found);

	if (!error)
		memcpy(bytes, found, QUOTA_BLOCK_BYTES);
	return error;
}

static errcode_t write_block(struct quota_blocks *blocks, uint32_t number, const void *bytes)
{
	struct quota_file *file = (struct quota_file *)blocks;
	struct cached_block *cached;
	uint8_t *found;
	errcode_t error = find_bytes(file, number, &cached, &found);

	if (error || !memcmp(found, bytes, QUOTA_BLOCK_BYTES))
		return error;
	memcpy(found, bytes, QUOTA_BLOCK_BYTES);
	cached->is_changed = true;
	return 0;
}

/* A cluster of the filesystem, which the inode counts. */
static errcode_t alloc_cluster(struct quota_file *file, uint64_t goal, uint64_t *block)
{
	errcode_t error = file->access->alloc ? file->access->alloc(file->access, goal, block) : ENOSPC;

	if (!error)
		file->inode.value.blocks += UINT64_C(1) << file->access->format->cluster_bits;
	return error;
}

static errcode_t map_next(struct quota_file *file, uint64_t logical)
{
	const uint64_t in_cluster = (UINT64_C(1) << file->access->format->cluster_bits) - 1;
	uint64_t previous = logical ? physical_of(file, logical - 1) : 0;
	uint64_t block = logical & in_cluster && previous ? previous + 1 : 0;
	struct cached_block *cached;
	errcode_t error = block ? 0 : alloc_cluster(file, previous ? previous + 1 : 0, &block);

	if (!error)
		error = extent_list_add(&file->extents, (uint32_t)logical, block, 1);
	file->has_new_blocks = true;
	return error ? error : load(file, block, true, &cached);
}

static errcode_t append_block(struct quota_blocks *blocks)
{
	struct quota_file *file = (struct quota_file *)blocks;
	uint64_t logical = logical_of(file, blocks->count);
	errcode_t error = 0;

	if (blocks->count == UINT32_MAX)
		return ENOSPC;
	if (!physical_of(file, logical))
		error = map_next(file, logical);
	if (error)
		return error;
	file->has_grown = true;
	file->inode.value.size_bytes = (uint64_t)++blocks->count * QUOTA_BLOCK_BYTES;
	/* What the filesystem's block has after the old end may be anything. */
	return write_block(blocks, blocks->count - 1, (const uint8_t[QUOTA_BLOCK_BYTES]){ 0 });
}

static errcode_t open_file(struct quota_file *file, struct block_access *access, uint32_t ino)
{
	SCOPE_FREE void *raw = malloc(access->format->inode_bytes);

	*file = (struct quota_file){
		.blocks = { .read = read_block, .write = write_block, .append = append_block },
		.scan = { .access = access, .extent = note_extent, .map_block = note_map_block },
		.access = access,
		.ino = ino,
	};
	if (!raw)
		return ENOMEM;
	errcode_t error = inode_store_read(access, ino, raw, &file->inode);

	if (error)
		return error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID ? EUCLEAN : error;
	const struct inode_value *value = &file->inode.value;

	if (!S_ISREG(value->mode) || value->flags & EXT4_INLINE_DATA_FL ||
	    value->size_bytes / QUOTA_BLOCK_BYTES > UINT32_MAX)
		return EUCLEAN;
	file->blocks.count = (uint32_t)(value->size_bytes / QUOTA_BLOCK_BYTES);
	return map_scan(&file->scan, ino, &file->inode);
}

static void close_file(struct quota_file *file)
{
	for (size_t index = 0; index < file->cache_count; index++)
		free(file->cache[index].bytes);
	free(file->cache);
	free(file->map_blocks);
	free(file->extents.extents);
}

/* The map is made anew, in the blocks that it has and as many more as it needs. */
static errcode_t write_map(struct quota_file *file)
{
	struct block_access *access = file->access;
	struct ondisk_format form = *access->format;
	struct inode_value *value = &file->inode.value;

	form.extents = value->flags & EXT4_EXTENTS_FL;
	uint64_t needed = file_map_blocks(&form, file->extents.extents, file->extents.count);
	errcode_t error = 0;

	while (!error && file->map_count < needed) {
		uint64_t block;

		error = alloc_cluster(file, file->extents.extents[0].physical, &block);
		if (!error)
			error = add_map_block(file, block);
	}
	/* It needs no fewer than before, unless its extents could have been joined. */
	while (!error && file->map_count > needed) {
		uint64_t cluster = UINT64_C(1) << form.cluster_bits, block = file->map_blocks[--file->map_count];

		error = access->free ? access->free(access, block & ~(cluster - 1), cluster) : ENOSPC;
		value->blocks -= value->blocks < cluster ? value->blocks : cluster;
	}
	SCOPE_FREE uint8_t *bytes = calloc(needed + 1, form.block_bytes);

	if (!error && !bytes)
		error = ENOMEM;
	if (!error)
		error = file_map_build(&form, file->ino, value->generation, file->extents.extents, file->extents.count,
		                       file->map_blocks, value->root, bytes);
	for (uint64_t index = 0; !error && index < needed; index++)
		error = access->write(access, file->map_blocks[index], bytes + (index << form.block_bits));
	return error;
}

static errcode_t write_file(struct quota_file *file)
{
	struct block_access *access = file->access;
	errcode_t error = 0;

	for (size_t index = 0; !error && index < file->cache_count; index++)
		if (file->cache[index].is_changed)
			error = access->write(access, file->cache[index].block, file->cache[index].bytes);
	if (!error && file->has_new_blocks)
		error = write_map(file);
	if (!error && file->has_grown)
		error = inode_store_change(access, file->ino, &file->inode);
	return error;
}

static errcode_t apply(struct quota_file *file, enum quota_type type, const struct usage_by_id *usage)
{
	struct quota_tree tree;
	errcode_t error = quota_tree_open(&tree, type, &file->blocks);

	for (size_t index = 0; !error && index < usage->count; index++) {
		const struct quota_entry *entry = &usage->entries[index];

		if (entry->inodes || entry->space_bytes)
			error = quota_tree_change(&tree, entry->id, (int64_t)entry->inodes,
			                          (int64_t)entry->space_bytes);
	}
	if (!error)
		error = quota_tree_close(&tree);
	return error ? error : write_file(file);
}

errcode_t quota_changes_apply(struct quota_changes *changes, struct block_access *access,
                              const uint32_t quota_inodes[QUOTA_TYPES], uint32_t *damaged)
{
	errcode_t error = 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++) {
		struct usage_by_id *usage = &changes->types[type];
		struct quota_file file;

		if (!quota_inodes[type] || !usage->count)
			continue;
		usage_by_id_sort(usage);
		error = open_file(&file, access, quota_inodes[type]);
		if (!error)
			error = apply(&file, (enum quota_type)type, usage);
		close_file(&file);
		if (error == EUCLEAN && damaged)
			*damaged = quota_inodes[type];
	}
	quota_changes_free(changes);
	return error;
}
