// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/plan/long_map.h"

#include <stdlib.h>
#include <string.h>

struct long_map *long_map_create(const struct file_extent *extents, uint32_t extent_count, uint32_t map_block_count)
{
	/* An extent is 16 bytes, so the block numbers behind them are aligned. */
	size_t extent_bytes = extent_count * sizeof(*extents);
	struct long_map *map = calloc(1, sizeof(*map) + extent_bytes + map_block_count * sizeof(uint64_t));

	if (!map)
		return NULL;
	map->extent_count = extent_count;
	map->map_block_count = map_block_count;
	map->map_blocks = (uint64_t *)(void *)&map->extents[extent_count];
	if (extent_count)
		memcpy(map->extents, extents, extent_bytes);
	return map;
}
