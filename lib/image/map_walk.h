/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Going through a file's map, an extent tree or an indirect map, record by record: one block of each level in memory.
 */
#pragma once

#include "image/map_record.h"
#include "image/volume.h"

/* One worker's means. */
struct map_walker {
	const struct volume *volume;
	struct damage_listener damage;
	/*
	 * Shared by all walkers: blocks of maps that were read. Each belongs to one file, so there cannot be more than
	 * the filesystem has blocks: what ends images that are made to be read for ever.
	 */
	uint64_t *blocks_read;
	uint8_t *levels; /* EXTENT_TREE_MAX_DEPTH blocks */
	uint64_t *children;
	uint64_t losses; /* how often something was left out */
	/*
	 * Set by who opened it: what differs from its checksum is left out, too, and so is what the kernel would refuse
	 * of directories and xattrs. Reports do without: they read the map of every file, for which checksums are
	 * twice the work, and say more of a damaged file by what is right in it.
	 */
	bool is_strict;
};

/* A walk's result about the map itself. */
struct map_shape {
	uint64_t blocks;    /* of the map, without the inode */
	unsigned int depth; /* 0: all is in the inode */
	bool is_left_out;   /* not all records were seen, because the volume's budget was spent */
};

/* Is shown each record, in logical order. False ends the walk. */
typedef bool (*map_record_function)(void *context, const struct map_record *record);

/* Is shown each block of the map itself, before the records that it has. False ends the walk. */
typedef bool (*map_block_function)(void *context, uint64_t block);

struct map_visitor {
	uint64_t from; /* the first logical block that is of interest; records are cut off before it */
	map_record_function record;
	map_block_function block; /* NULL: not wanted; else runs of an indirect map end where a block of it begins */
	void *context;
};

/* damage hears what walks leave out. blocks_read outlives the walker. ENOMEM. */
MUST_CHECK errcode_t map_walker_open(const struct volume *volume, struct damage_listener damage, uint64_t *blocks_read,
                                     struct map_walker *walker);
void map_walker_close(struct map_walker *walker);

/*
 * Shows what a visitor wants to see of inode ino, whose i_block is a map. What cannot be read or be right is left out
 * and is damage: blocks out of bounds, logical blocks not in order.
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
 * The records from logical block `from` on, at most `most` of them, and cut off before it; returns how many there are:
 * fewer are all that follow. Reads one block of each level, and those whose records are returned.
 */
size_t map_records(struct map_walker *walker, uint32_t ino, const struct inode_view *inode, uint64_t from,
                   struct map_record *records, size_t most);

/* Blocks that i_block of such an inode points to as parts of its map, to be expected before it is walked: up to 4. */
unsigned int map_first_blocks(const struct volume *volume, const struct inode_view *inode, uint64_t blocks[4]);

/* True if the walk reads so much that it is worth a task of its own. */
bool map_is_large(const struct inode_view *inode);
