/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Going through the map of an inode, an extent tree or an indirect map, before it is changed: strictly, for unlike a
 * report (image/map_walk.h) a change must not go on from a part that is damaged. Through a block_access.
 */
#pragma once

#include "ondisk/block_access.h"
#include "ondisk/inode.h"

struct map_scan {
	struct block_access *access;
	/* Blocks logical .. logical+count-1 are physical .. physical+count-1. Ascending by logical. An error ends it.
	 */
	errcode_t (*extent)(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
	                    bool is_unwritten);
	/* A block of the map itself, before what it points to. */
	errcode_t (*map_block)(struct map_scan *scan, uint64_t block);

	uint32_t seed;        /* for the implementation: of the tree's checksums, */
	uint64_t next;        /* the first logical block that may come, */
	uint64_t blocks_read; /* which ends maps that point to themselves */
};

/* True if i_block is a map. It is not for devices, FIFOs, sockets, short symlinks and inline data. */
bool map_is_in_inode(const struct inode_decoded *inode);

/*
 * Shows all of the map, with the functions that the caller has set. The map of an inode without one is empty.
 * EUCLEAN: a block that no inode can own, a wrong checksum, logical blocks that do not ascend, a map without an end;
 * ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t map_scan(struct map_scan *scan, uint32_t ino, const struct inode_decoded *inode);
