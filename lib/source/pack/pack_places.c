/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack_places.h"

#include <errno.h>

#include "source/pack/pack_format.h"

/* No filesystem holds a larger file (XFS: 8 EiB). */
#define MOST_BYTES (UINT64_C(1) << 62)

static uint64_t block_start(uint64_t bytes)
{
	return bytes & ~(uint64_t)(PACK_BLOCK_BYTES - 1);
}

static uint64_t block_end(uint64_t bytes)
{
	return block_start(bytes + PACK_BLOCK_BYTES - 1);
}

/* Segments that have a block in common keep their distance, so that each byte keeps its place within a block. */
static errcode_t place_segments(const struct tree_data_map *map, uint64_t *end, uint64_t *starts)
{
	uint64_t logical_end = 0, place_end = *end;

	for (uint32_t i = 0; i < map->count; i++) {
		const struct tree_segment *segment = &map->segments[i];
		uint64_t from = block_start(segment->start_bytes);

		if (from < logical_end)
			place_end -= logical_end - from;
		if (starts)
			starts[i] = place_end + (segment->start_bytes - from);
		logical_end = block_end(segment->start_bytes + segment->length_bytes);
		place_end += logical_end - from;
		if (place_end > MOST_BYTES)
			return EFBIG;
	}
	*end = place_end;
	return 0;
}

errcode_t pack_places_add(uint64_t size_bytes, const struct tree_data_map *map, uint64_t *end, uint64_t *starts)
{
	/* No sum below can exceed 2^63. */
	if (size_bytes > MOST_BYTES)
		return EFBIG;
	if (map)
		return place_segments(map, end, starts);
	if (block_end(size_bytes) > MOST_BYTES - *end)
		return EFBIG;
	*end += block_end(size_bytes);
	return 0;
}
