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

#endif
