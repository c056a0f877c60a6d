/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cutting a map off at a logical block: all of it for an inode that is deleted, or what lies after the size. Only the
 * blocks of the map on the way to the cut are written, at most five.
 */
#pragma once

#include <stddef.h>

#include "ondisk/block_access.h"
#include "ondisk/inode.h"

/* Blocks that go free: whole clusters, ascending, disjoint, runs that touch are joined. Zero-initialise. */
struct block_list {
	struct block_span {
		uint64_t start, count;
	} * spans; /* owned, freed with free() */
	size_t count, capacity;
	uint64_t blocks; /* of all */
};

/* Adds blocks, which become whole clusters. ENOMEM. */
MUST_CHECK errcode_t block_list_add(struct block_list *list, const struct ondisk_format *format, uint64_t first_block,
                                    uint64_t start, uint64_t count);

/*
 * Sorts and joins what has been added. EUCLEAN: a block is there twice; not with bigalloc, where extents share
 * clusters. (first_block of a filesystem with clusters is 0 or lies at the begin of one.)
 */
MUST_CHECK errcode_t block_list_finish(struct block_list *list, const struct ondisk_format *format);
void block_list_free(struct block_list *list);

/* How many groups the blocks lie in: so many block bitmaps change if they go free. The list is finished. */
uint64_t block_list_groups(const struct block_list *list, uint64_t first_block, uint64_t blocks_per_group);

/*
 * Collects all blocks of an inode's map, those of the map included; nothing is written. EUCLEAN as map_scan(), also
 * for a block that is there twice; ENOMEM, errors in reading. The list is finished.
 */
MUST_CHECK errcode_t map_collect(struct block_access *access, uint32_t ino, const struct inode_decoded *inode,
                                 struct block_list *list);

/*
 * Cuts the map off before logical block `first`: changes value.root and value.blocks of the inode, which the caller
 * writes, and writes blocks of the map. The blocks that are no longer referred to are in the list, finished; the
 * caller frees them, in the same step. The caller has called map_collect() with success, so that the map is known to
 * be right. ENOMEM, errors in reading and writing: the step must not be committed.
 */
MUST_CHECK errcode_t map_cut(struct block_access *access, uint32_t ino, struct inode_decoded *inode, uint64_t first,
                             struct block_list *freed);

/* Finds the block to which a logical block is mapped; *physical is 0 if there is none, or an unwritten one. */
MUST_CHECK errcode_t map_find(struct block_access *access, uint32_t ino, const struct inode_decoded *inode,
                              uint64_t logical, uint64_t *physical);
