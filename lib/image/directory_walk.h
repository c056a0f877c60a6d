/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over the names in a directory: linear, indexed or inside its inode. */
#pragma once

#include "image/map_walk.h"

/* One worker's state for walks over directories, and over their maps. */
struct directory_walker {
	struct map_walker map;
	uint64_t *blocks_read; /* of directories, shared and limited like the map's */
	uint8_t *bytes;        /* of blocks that are being read */
};

/* A walk's result about the directory itself. */
struct directory_shape {
	struct map_shape map;
	bool is_inline;
	bool is_indexed;
	unsigned int index_levels; /* below the first block, if indexed */
	uint64_t entries;          /* without . and .. */
	uint32_t parent;           /* the inode of ..; 0: there is no .. */
};

/* Gets each entry except . and .., in the order of the blocks. */
typedef void (*directory_entry_function)(void *context, const struct directory_entry *entry);

/* Both counters outlive the walker. ENOMEM. */
MUST_CHECK errcode_t directory_walker_open(const struct volume *volume, struct damage_listener damage,
                                           uint64_t *map_blocks_read, uint64_t *directory_blocks_read,
                                           struct directory_walker *walker);
void directory_walker_close(struct directory_walker *walker);

/* Functions that a walk over a directory calls. */
struct directory_visitor {
	directory_entry_function entry;
	map_record_function record; /* of the directory's own blocks, each before its entries; NULL: not wanted */
	void *context;
};

/*
 * Shows all entries. raw: the inode's bytes, of which inode is the view. Unreadable blocks are damage. In strict walks
 * (walker->map.is_strict) blocks that differ from their checksums are damage, too, and so are entries that the kernel
 * would refuse: inode numbers that do not exist, or that are the filesystem's own; names with a 0 or a slash, unless
 * they are encrypted; a `.` that names another directory, a second `.` or `..`. Encrypted names are bytes, as are
 * those with casefold; directories with both have hashes after each name, which are not part of the name
 * (directory_entry_stored_hashes()); strict walks refuse an entry without room for them.
 */
void directory_walk(struct directory_walker *walker, uint32_t ino, const void *raw, const struct inode_view *inode,
                    const struct directory_visitor *visitor, struct directory_shape *shape);
