/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The places of the filesystem's own metadata: superblocks, descriptors and their reserved blocks, bitmaps, inode
 * tables, the multiple mount protection block. Nothing of it may be freed or allocated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

#include "ondisk/geometry.h"
#include "support/problem.h"

struct fs_zone {
	uint64_t start; /* in blocks */
	uint64_t count;
};

/* Ascending, disjoint, merged. */
struct fs_zones {
	struct fs_zone *items;
	size_t count;
};

/*
 * Finds all zones, and sets the bit in suspect (one per group) of each group whose bitmaps or inode table lie outside
 * the filesystem or in other metadata. ENOMEM.
 */
MUST_CHECK errcode_t fs_zones_find(ext2_filsys fs, const struct geometry *geometry, struct fs_zones *zones,
                                   uint64_t *suspect);
void fs_zones_free(struct fs_zones *zones);

/* The index of the first zone that ends after block; count if there is none. Any thread. */
size_t fs_zones_search(const struct fs_zones *zones, uint64_t block);

/* True if one of the blocks is in a zone. Any thread. */
bool fs_zones_overlap(const struct fs_zones *zones, uint64_t block, uint64_t count);

/* Iterates over the clusters of a group that zones occupy. Zero-initialise. */
struct zone_walk {
	size_t index;
	uint32_t from;
	uint32_t end;
};

/* Advances to the next zone; false after the last one. Any thread. */
bool fs_zones_next(const struct fs_zones *zones, const struct geometry *geometry, uint32_t group,
                   struct zone_walk *walk);
