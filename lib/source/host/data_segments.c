// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/host/data_segments.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"

errcode_t data_segments_add(struct data_segments *segments, uint64_t start, uint64_t end)
{
	struct tree_segment *last = segments->count ? &segments->list[segments->count - 1] : NULL;

	if (last && last->start_bytes + last->length_bytes == start) {
		last->length_bytes = end - last->start_bytes;
		return 0;
	}
	errcode_t error =
		vector_reserve(&segments->list, &segments->capacity, segments->count + 1, sizeof(*segments->list));

	if (!error)
		segments->list[segments->count++] = (struct tree_segment){ start, end - start };
	return error;
}

errcode_t data_segments_set_whole(struct data_segments *segments, uint64_t size_bytes)
{
	segments->count = 0;
	return size_bytes ? data_segments_add(segments, 0, size_bytes) : 0;
}

errcode_t data_segments_find(struct data_segments *segments, int descriptor, uint64_t size_bytes)
{
	uint64_t at = 0;

	segments->count = 0;
	while (at < size_bytes) {
		off_t start = lseek(descriptor, (off_t)at, SEEK_DATA);

		if (start < 0 && errno == ENXIO) /* no data from here on */
			break;
		off_t end = start < 0 ? -1 : lseek(descriptor, start, SEEK_HOLE);

		if (end < 0 && errno != EINVAL && errno != ENOTSUP)
			return errno;
		if (end >= 0 && (uint64_t)start >= size_bytes)
			break;
		/* The host cannot tell, or gives no answer that would get us further. */
		if (end <= start)
			return data_segments_set_whole(segments, size_bytes);
		/* The file may have grown meanwhile. */
		at = (uint64_t)end < size_bytes ? (uint64_t)end : size_bytes;
		errcode_t error = data_segments_add(segments, (uint64_t)start, at);

		if (error)
			return error;
	}
	return segments->count > UINT32_MAX ? EFBIG : 0;
}

errcode_t data_segments_map(const struct data_segments *segments, struct arena *memory, struct tree_data_map **ret)
{
	struct tree_data_map *map = arena_alloc(memory, sizeof(*map) + segments->count * sizeof(*map->segments));

	*ret = map;
	if (!map)
		return ENOMEM;
	map->count = (uint32_t)segments->count;
	if (segments->count)
		memcpy(map->segments, segments->list, segments->count * sizeof(*map->segments));
	return 0;
}
