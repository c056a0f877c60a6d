/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over a file's map, an extent tree or an indirect map, record by record, with one block of each level in memory.
 */
#pragma once

#include "image/map_record.h"
#include "image/volume.h"

/* One worker's state. */
struct map_walker {
	const struct volume *volume;
	struct damage_listener damage;
	/*
	 * The number of map blocks that all walkers have read. Each block belongs to one file, so there cannot be more
	 * than the filesystem has blocks: this limit ends the reading of images that are made to be read for ever.
	 */
	uint64_t *blocks_read;
	uint8_t *levels; /* EXTENT_TREE_MAX_DEPTH blocks */
	uint64_t *children;
	uint64_t losses; /* the number of parts that were left out */
	/*
	 * The caller sets it after opening: blocks that differ from their checksums are left out, too, and so are
	 * directory entries and xattrs that the kernel would refuse. Reports do not set it: they read the map of every
	 * file, for which checksums are twice the work, and the sound part of a damaged file is useful in a report.
	 */
	bool is_strict;
};

/* A walk's result about the map itself. */
struct map_shape {
	uint64_t blocks;    /* of the map, without the inode */
	unsigned int depth; /* 0: all records are in the inode */
	bool is_left_out;   /* not all records were seen, because the volume's budget was spent */
};

/* Gets each record, in logical order. False ends the walk. */
typedef bool (*map_record_function)(void *context, const struct map_record *record);

/* Gets each block of the map itself, before its records. False ends the walk. */
typedef bool (*map_block_function)(void *context, uint64_t block);

struct map_visitor {
	uint64_t from; /* the first logical block that is of interest; records are cut off before it */
	map_record_function record;
	map_block_function block; /* NULL: not wanted; else runs of an indirect map end where a block of it begins */
	void *context;
};

/* damage gets the parts that walks leave out. blocks_read outlives the walker. ENOMEM. */
MUST_CHECK errcode_t map_walker_open(const struct volume *volume, struct damage_listener damage, uint64_t *blocks_read,
                                     struct map_walker *walker);
void map_walker_close(struct map_walker *walker);

/*
 * Shows a visitor the records of inode ino, whose i_block is a map. Unreadable and impossible parts are left out and
 * are damage: blocks out of bounds, logical blocks not in order.
 */
void map_visit(struct map_walker *walker, uint32_t ino, const struct inode_view *inode,
               const struct map_visitor *visitor, struct map_shape *shape);

/* The same of all records. */
static inline void map_walk(struct map_walker *walker, uint32_t ino, const struct inode_view *inode,
                            map_record_function function, void *context, struct map_shape *shape)
{
	map_visit(walker, ino, inode, &(const struct map_visitor){ .record = function, .context = context }, shape);
}

/*
 * Returns the records from logical block `from` on, at most `most` of them, the first one cut off before it, and their
 * number: fewer than `most` are all that follow. Reads one block of each level, and those with the returned records.
 */
size_t map_records(struct map_walker *walker, uint32_t ino, const struct inode_view *inode, uint64_t from,
                   struct map_record *records, size_t most);

/* Returns the blocks of the map to which i_block of such an inode points, up to 4, for readahead before a walk. */
unsigned int map_first_blocks(const struct volume *volume, const struct inode_view *inode, uint64_t blocks[4]);

/* True if the walk reads so many blocks that it is worth a task of its own. */
bool map_is_large(const struct inode_view *inode);
