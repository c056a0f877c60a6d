/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/free_extents.h"

#include <errno.h>
#include <stdlib.h>

#include "support/bits.h"
#include "support/vector.h"

#define WINDOW_GROUPS 16u

errcode_t free_extents_open(struct free_extents *list, struct ext2mb *mb, struct ext2mb_worker *worker,
                            const struct geometry *geometry)
{
	size_t lengths = geometry->clusters_per_group + 1ul;

	*list = (struct free_extents){
		.worker = worker,
		.mb = mb,
		.geometry = geometry,
		.windows = (geometry->groups + WINDOW_GROUPS - 1) / WINDOW_GROUPS,
		.first = calloc(lengths, sizeof(*list->first)),
		.lengths = calloc(bits_words(lengths), sizeof(*list->lengths)),
	};
	list->is_listed = calloc(bits_words(list->windows), sizeof(*list->is_listed));
	return list->first && list->lengths && list->is_listed ? 0 : ENOMEM;
}

void free_extents_close(struct free_extents *list)
{
	free(list->first);
	free(list->lengths);
	free(list->is_listed);
	free(list->extents);
	*list = (struct free_extents){ 0 };
}

void free_extents_forget(struct free_extents *list)
{
	uint32_t lengths = list->geometry->clusters_per_group + 1;

	for (uint32_t length = 0; length < lengths; length++)
		list->first[length] = 0;
	bits_clear_range(list->lengths, 0, lengths);
	bits_clear_range(list->is_listed, 0, list->windows);
	list->count = 0;
}

static errcode_t add(struct free_extents *list, uint64_t position, uint32_t length)
{
	const struct listed_extent extent = { position, list->first[length] };
	errcode_t error = vector_add(&list->extents, &list->count, &list->capacity, &extent, sizeof(extent));

	if (error)
		return error;
	list->first[length] = (uint32_t)list->count;
	bits_set(list->lengths, length);
	return 0;
}

/* Takes the extent of this length that was added last off the list. */
static uint64_t remove_last(struct free_extents *list, uint32_t length)
{
	const struct listed_extent *extent = &list->extents[list->first[length] - 1];

	list->first[length] = extent->next;
	if (!extent->next)
		bits_clear(list->lengths, length);
	return extent->position;
}

/*
 * Lists the free extents that begin in [position, end). The last one comes first in its length's list, so its order is
 * turned round afterwards.
 */
static errcode_t list_range(struct free_extents *list, uint64_t position, uint64_t end)
{
	const struct geometry *geometry = list->geometry;
	struct ext2mb_extent *found = NULL;
	size_t count = 0, capacity = 0;
	errcode_t error = 0;

	while (!error && position < end) {
		struct ext2mb_extent extent;

		error = ext2mb_next_free(list->mb, geometry_block_at(geometry, position), &extent);
		if (error)
			break;
		position = geometry_position(geometry, extent.start);
		/* The first cluster is the superblock's, whatever a damaged bitmap says. */
		if (position && position < end)
			error = vector_add(&found, &count, &capacity, &extent, sizeof(extent));
		position += geometry_to_clusters(geometry, extent.count);
	}
	if (error == EXT2MB_ET_NO_SPACE)
		error = 0;
	while (!error && count--)
		error = add(list, geometry_position(geometry, found[count].start),
		            (uint32_t)geometry_to_clusters(geometry, found[count].count));
	free(found);
	return error;
}

static errcode_t list_window(struct free_extents *list, uint32_t window)
{
	uint64_t each = (uint64_t)WINDOW_GROUPS * list->geometry->clusters_per_group;

	if (bits_test(list->is_listed, window))
		return 0;
	bits_set(list->is_listed, window);
	return list_range(list, window * each, (window + 1) * each);
}

/* Returns the first window from `window` on, and then from 0 on, that is not listed yet; list->windows: all are. */
static uint32_t next_unlisted(const struct free_extents *list, uint32_t window)
{
	uint32_t next = bits_next_zero(list->is_listed, window, list->windows);

	return next < list->windows ? next : bits_next_zero(list->is_listed, 0, list->windows);
}

/* Returns the shortest length, from `wanted` on, that a listed extent has; 0: there is none. */
static uint32_t shortest(const struct free_extents *list, uint32_t wanted)
{
	uint32_t end = list->geometry->clusters_per_group + 1, length = bits_next_one(list->lengths, wanted, end);

	return length < end ? length : 0;
}

/*
 * Returns the best length for so many clusters; 0: nothing is free. It searches once for each window that it has to
 * list: once all are, a request that nothing can hold costs no more than others.
 */
static errcode_t choose_length(struct free_extents *list, uint32_t window, uint32_t wanted, uint32_t *length)
{
	uint32_t end = list->geometry->clusters_per_group + 1;

	for (uint32_t next = window; next < list->windows; next = next_unlisted(list, window)) {
		errcode_t error = list_window(list, next);

		*length = shortest(list, wanted);
		if (error || *length)
			return error;
	}
	*length = bits_after_last_one(list->lengths, 0, end);
	*length -= *length > 0;
	return 0;
}

/* 0, as of an inline directory's contents, is no block of a group where blocks have 1 KiB. */
static uint32_t window_of(const struct geometry *geometry, uint64_t near)
{
	uint64_t block = near > geometry->first_block ? near : geometry->first_block;

	return (uint32_t)(geometry_position(geometry, block) / geometry->clusters_per_group / WINDOW_GROUPS);
}

errcode_t free_extents_take(struct free_extents *list, uint64_t near, uint64_t count, struct ext2mb_extent *extent)
{
	const struct geometry *geometry = list->geometry;
	uint64_t wanted = geometry_to_clusters(geometry, count);
	uint32_t most = wanted < geometry->clusters_per_group ? (uint32_t)wanted : geometry->clusters_per_group;

	for (;;) {
		uint32_t length;
		errcode_t error = choose_length(list, window_of(geometry, near), most, &length);

		if (error || !length)
			return error ? error : EXT2MB_ET_NO_SPACE;
		uint64_t position = remove_last(list, length);
		uint32_t taken = length < most ? length : most;
		const struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = geometry_block_at(geometry, position),
			.count = geometry_to_blocks(geometry, taken),
			.flags = EXT2MB_ALLOC_GOAL_ONLY | EXT2MB_ALLOC_WHOLE,
		};

		error = ext2mb_alloc(list->worker, &request, extent);
		if (!error)
			return taken < length ? add(list, position + taken, length - taken) : 0;
		if (error != EXT2MB_ET_NO_SPACE)
			return error;
		/* Others have taken blocks of it. */
		error = list_range(list, position, position + length);
		if (error)
			return error;
	}
}
