// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/build/extent_map.h"

#include <stdlib.h>
#include <string.h>

#include "support/vector.h"

errcode_t extent_list_add(struct extent_list *list, uint32_t logical, uint64_t physical, uint64_t blocks)
{
	struct file_extent *last = list->count ? &list->extents[list->count - 1] : NULL;

	if (last && last->logical + last->count == logical && last->physical + last->count == physical) {
		uint64_t room = FILE_EXTENT_MAX_BLOCKS - last->count, taken = blocks < room ? blocks : room;

		last->count += (uint32_t)taken;
		logical += (uint32_t)taken;
		physical += taken;
		blocks -= taken;
	}
	while (blocks) {
		uint32_t piece = blocks < FILE_EXTENT_MAX_BLOCKS ? (uint32_t)blocks : FILE_EXTENT_MAX_BLOCKS;
		errcode_t error = vector_reserve(&list->extents, &list->capacity, list->count + 1,
		                                 sizeof(*list->extents));
		if (error)
			return error;
		list->extents[list->count++] =
			(struct file_extent){ .logical = logical, .count = piece, .physical = physical };
		logical += piece;
		physical += piece;
		blocks -= piece;
	}
	return 0;
}

struct extent_map *extent_map_create(const struct extent_list *list, uint32_t map_block_count)
{
	/* An extent is 16 bytes, so the block numbers after them are aligned. */
	size_t extent_bytes = list->count * sizeof(*list->extents);
	struct extent_map *map = calloc(1, sizeof(*map) + extent_bytes + map_block_count * sizeof(uint64_t));

	if (!map)
		return NULL;
	map->extent_count = (uint32_t)list->count;
	map->map_block_count = map_block_count;
	map->map_blocks = (uint64_t *)(void *)&map->extents[list->count];
	if (list->count)
		memcpy(map->extents, list->extents, extent_bytes);
	return map;
}
