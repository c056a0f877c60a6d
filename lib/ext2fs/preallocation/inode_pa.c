// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/inode_pa.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void inode_pa_destroy(struct inode_pas *windows)
{
	free(windows->windows);
	*windows = (struct inode_pas){ 0 };
}

errcode_t inode_pa_reserve(struct inode_pas *windows, uint32_t more)
{
	if (windows->capacity - windows->count >= more)
		return 0;

	uint32_t capacity = 2 * windows->capacity + 4 + more;
	struct inode_pa *grown = realloc(windows->windows, capacity * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	windows->windows = grown;
	windows->capacity = capacity;
	return 0;
}

static uint64_t end_of(const struct inode_pa *window)
{
	return (uint64_t)window->logical + window->count;
}

/* The first preallocation that ends after the logical cluster. */
static uint32_t find(const struct inode_pas *windows, uint32_t logical)
{
	uint32_t low = 0;
	uint32_t high = windows->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (end_of(&windows->windows[middle]) > logical)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void insert(struct inode_pas *windows, uint32_t index, const struct inode_pa *window)
{
	struct inode_pa *place = windows->windows + index;

	assert(windows->count < windows->capacity);
	memmove(place + 1, place, (windows->count++ - index) * sizeof(*place));
	*place = *window;
}

static void erase(struct inode_pas *windows, uint32_t index)
{
	struct inode_pa *place = windows->windows + index;

	memmove(place, place + 1, (--windows->count - index) * sizeof(*place));
}

bool inode_pa_take_served(struct inode_pas *windows, uint64_t *position, uint32_t *count)
{
	if (!windows->served)
		return false;
	*count = windows->served;
	*position = windows->windows[windows->cursor].position - windows->served;
	windows->served = 0;
	return true;
}

void inode_pa_add(struct inode_pas *windows, const struct inode_pa *window)
{
	uint32_t index = find(windows, window->logical);

	assert(!windows->served);
	assert(index == windows->count || windows->windows[index].logical >= end_of(window));
	insert(windows, index, window);
	windows->cursor = index;
}

errcode_t inode_pa_take_any(struct inode_pas *windows, uint32_t logical, uint32_t most, uint64_t *position,
                                uint32_t *taken)
{
	uint32_t index = find(windows, logical);

	assert(!windows->served);
	*taken = 0;
	if (index == windows->count || windows->windows[index].logical > logical)
		return 0;

	struct inode_pa *window = &windows->windows[index];
	uint32_t before = logical - window->logical;
	uint32_t after = window->count - before > most ? window->count - before - most : 0;
	if (before && after) {
		errcode_t error = inode_pa_reserve(windows, 1);
		if (error)
			return error;
		window = &windows->windows[index];
	}
	*position = window->position + before;
	*taken = window->count - before - after;

	struct inode_pa rest = { *position + *taken, logical + *taken, after };
	window->count = before;
	if (before && after)
		insert(windows, ++index, &rest);
	else if (after)
		*window = rest;
	else if (!before)
		erase(windows, index);
	windows->cursor = index;
	return 0;
}

void inode_pa_clip_hole(const struct inode_pas *windows, uint32_t logical, uint64_t *start, uint64_t *end)
{
	uint32_t next = find(windows, logical);

	if (next < windows->count && windows->windows[next].logical < *end)
		*end = windows->windows[next].logical;
	if (next && end_of(&windows->windows[next - 1]) > *start)
		*start = end_of(&windows->windows[next - 1]);
}

uint32_t inode_pa_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count,
                            uint32_t found)
{
	uint32_t at_end = goal + goal_count - found;

	if (at_end <= request)
		return at_end;
	return (uint64_t)request + request_count <= (uint64_t)goal + found ? goal : request;
}
