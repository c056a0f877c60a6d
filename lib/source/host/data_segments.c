/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/data_segments.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

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

/* Finds the data with SEEK_DATA and SEEK_HOLE. */
static errcode_t find_data(struct data_segments *segments, int descriptor, uint64_t size_bytes)
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
		/* The host cannot tell, or its answer does not get us further. */
		if (end <= start)
			return data_segments_set_whole(segments, size_bytes);
		/* The file may have grown in the meantime. */
		at = (uint64_t)end < size_bytes ? (uint64_t)end : size_bytes;
		errcode_t error = data_segments_add(segments, (uint64_t)start, at);

		if (error)
			return error;
	}
	return segments->count > UINT32_MAX ? EFBIG : 0;
}

/* One call returns so many extents; they take 3.5 KiB. */
#define EXTENTS_AT_ONCE 64

struct extent_query {
	struct fiemap head;
	struct fiemap_extent extents[EXTENTS_AT_ONCE];
};

/* Adds the data of some extents. *at becomes their end; *is_last: no more extents follow. */
static errcode_t add_extents(struct data_segments *segments, const struct extent_query *query, uint64_t size_bytes,
                             uint64_t *at, bool *is_last)
{
	*is_last = !query->head.fm_mapped_extents;
	for (uint32_t number = 0; number < query->head.fm_mapped_extents && *at < size_bytes; number++) {
		const struct fiemap_extent *extent = &query->extents[number];
		uint64_t start = extent->fe_logical > *at ? extent->fe_logical : *at;
		uint64_t end = extent->fe_logical + extent->fe_length;

		end = end < size_bytes ? end : size_bytes;
		*is_last = extent->fe_flags & FIEMAP_EXTENT_LAST;
		if (start >= end)
			continue;
		*at = end;
		errcode_t error =
			extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN ? 0 : data_segments_add(segments, start, end);

		if (error)
			return error;
	}
	return 0;
}

/* Finds the data with FIEMAP. ENOTSUP: the caller has to use SEEK_DATA instead. */
static errcode_t find_extents(struct data_segments *segments, int descriptor, uint64_t size_bytes)
{
	uint64_t at = 0;
	bool is_last = false;

	segments->count = 0;
	while (at < size_bytes && !is_last) {
		struct extent_query query = { .head = {
						      .fm_start = at,
						      .fm_length = size_bytes - at,
						      .fm_flags = FIEMAP_FLAG_SYNC,
						      .fm_extent_count = EXTENTS_AT_ONCE,
					      } };
		uint64_t before = at;

		if (ioctl(descriptor, FS_IOC_FIEMAP, &query) < 0)
			return ENOTSUP;
		errcode_t error = add_extents(segments, &query, size_bytes, &at, &is_last);

		if (error)
			return error;
		if (at == before && !is_last)
			return ENOTSUP;
	}
	return segments->count > UINT32_MAX ? EFBIG : 0;
}

/* True for XFS and ext4, and for an overlay, whose layers may be on one of them. */
static bool needs_extents(int descriptor)
{
	struct statfs status;

	return fstatfs(descriptor, &status) == 0 &&
	       (status.f_type == XFS_SUPER_MAGIC || status.f_type == EXT4_SUPER_MAGIC ||
	        status.f_type == OVERLAYFS_SUPER_MAGIC);
}

errcode_t data_segments_find(struct data_segments *segments, const struct scan_options *options, int descriptor,
                             uint64_t size_bytes)
{
	errcode_t error = ENOTSUP;

	if (options->asks_for_holes && needs_extents(descriptor))
		error = find_extents(segments, descriptor, size_bytes);
	return error == ENOTSUP ? find_data(segments, descriptor, size_bytes) : error;
}

errcode_t data_segments_map(const struct data_segments *segments, struct arena *memory, struct tree_data_map **ret)
{
	struct tree_data_map *map = arena_alloc(memory, sizeof(*map) + segments->count * sizeof(*map->segments));

	*ret = map;
	if (!map)
		return ENOMEM;
	map->contents = 0;
	map->count = (uint32_t)segments->count;
	if (segments->count)
		memcpy(map->segments, segments->list, segments->count * sizeof(*map->segments));
	return 0;
}
