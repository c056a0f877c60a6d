// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/long_map.h"

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

void extents_punch(const struct file_extent *extents, uint32_t extent_count, const struct block_run *runs,
                   size_t run_count, struct file_extent *kept, uint32_t *kept_count, struct file_extent *freed,
                   uint32_t *freed_count)
{
	size_t run = 0;

	*kept_count = *freed_count = 0;
	for (uint32_t number = 0; number < extent_count; number++) {
		struct file_extent extent = extents[number];

		while (extent.count) {
			while (run < run_count && runs[run].logical + runs[run].count <= extent.logical)
				run++;
			uint32_t before = extent.count, inside = 0;

			if (run < run_count && runs[run].logical < extent.logical + extent.count) {
				before = runs[run].logical > extent.logical ? runs[run].logical - extent.logical : 0;
				uint32_t end = runs[run].logical + runs[run].count;

				if (end > extent.logical + extent.count)
					end = extent.logical + extent.count;
				inside = end - extent.logical - before;
			}
			if (before)
				kept[(*kept_count)++] = (struct file_extent){ extent.logical, before,
					                                      extent.physical };
			if (inside)
				freed[(*freed_count)++] =
					(struct file_extent){ 0, inside, extent.physical + before };
			extent.logical += before + inside;
			extent.physical += before + inside;
			extent.count -= before + inside;
		}
	}
}
