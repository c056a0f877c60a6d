/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps of files that are not one extent from logical block 0. Pure. */
#ifndef POPULATE_LONG_MAP_H
#define POPULATE_LONG_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "ondisk/file_map.h"

struct long_map {
	uint32_t extent_count;
	uint32_t map_block_count;
	uint64_t *map_blocks; /* where the map's own blocks stand, as file_map_build() wants them; within the same memory */
	struct file_extent extents[];
};

/* A copy of the extents with room for map_blocks (zeros). NULL: no memory. The caller frees it with free(). */
struct long_map *long_map_create(const struct file_extent *extents, uint32_t extent_count, uint32_t map_block_count);

/* Blocks logical .. logical+count-1 of a file. */
struct block_run {
	uint32_t logical;
	uint32_t count;
};

/*
 * Takes the runs (ascending, not overlapping, each within what the extents map) out of the extents. kept has
 * room for extent_count + run_count extents, freed for as many; freed extents have their logical set to 0.
 * Returns the numbers in *kept_count and *freed_count.
 */
void extents_punch(const struct file_extent *extents, uint32_t extent_count, const struct block_run *runs,
                   size_t run_count, struct file_extent *kept, uint32_t *kept_count, struct file_extent *freed,
                   uint32_t *freed_count);

#endif
