// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/file_windows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void file_windows_destroy(struct file_windows *windows)
{
	free(windows->windows);
	*windows = (struct file_windows){ 0 };
}

errcode_t file_windows_reserve(struct file_windows *windows, uint32_t more)
{
	if (windows->capacity - windows->count >= more)
		return 0;

	uint32_t capacity = 2 * windows->capacity + 4 + more;
	struct file_window *grown = realloc(windows->windows, capacity * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	windows->windows = grown;
	windows->capacity = capacity;
	return 0;
}

static uint64_t end_of(const struct file_window *window)
{
	return (uint64_t)window->logical + window->count;
}

/* The first window that ends behind the logical cluster. */
static uint32_t find(const struct file_windows *windows, uint32_t logical)
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

static void insert(struct file_windows *windows, uint32_t index, const struct file_window *window)
{
	struct file_window *place = windows->windows + index;

	assert(windows->count < windows->capacity);
	memmove(place + 1, place, (windows->count++ - index) * sizeof(*place));
	*place = *window;
}

static void erase(struct file_windows *windows, uint32_t index)
{
	struct file_window *place = windows->windows + index;

	memmove(place, place + 1, (--windows->count - index) * sizeof(*place));
}

bool file_windows_take_served(struct file_windows *windows, uint64_t *position, uint32_t *count)
{
	if (!windows->served)
		return false;
	*count = windows->served;
	*position = windows->windows[windows->cursor].position - windows->served;
	windows->served = 0;
	return true;
}

void file_windows_add(struct file_windows *windows, const struct file_window *window)
{
	uint32_t index = find(windows, window->logical);

	assert(!windows->served);
	assert(index == windows->count || windows->windows[index].logical >= end_of(window));
	insert(windows, index, window);
	windows->cursor = index;
}

errcode_t file_windows_take_any(struct file_windows *windows, uint32_t logical, uint32_t most, uint64_t *position,
                                uint32_t *taken)
{
	uint32_t index = find(windows, logical);

	assert(!windows->served);
	*taken = 0;
	if (index == windows->count || windows->windows[index].logical > logical)
		return 0;

	struct file_window *window = &windows->windows[index];
	uint32_t before = logical - window->logical;
	uint32_t after = window->count - before > most ? window->count - before - most : 0;
	if (before && after) {
		errcode_t error = file_windows_reserve(windows, 1);
		if (error)
			return error;
		window = &windows->windows[index];
	}
	*position = window->position + before;
	*taken = window->count - before - after;

	struct file_window rest = { *position + *taken, logical + *taken, after };
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

void file_windows_clip_hole(const struct file_windows *windows, uint32_t logical, uint64_t *start, uint64_t *end)
{
	uint32_t next = find(windows, logical);

	if (next < windows->count && windows->windows[next].logical < *end)
		*end = windows->windows[next].logical;
	if (next && end_of(&windows->windows[next - 1]) > *start)
		*start = end_of(&windows->windows[next - 1]);
}

uint32_t file_windows_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count,
                            uint32_t found)
{
	uint32_t at_end = goal + goal_count - found;

	if (at_end <= request)
		return at_end;
	return (uint64_t)request + request_count <= (uint64_t)goal + found ? goal : request;
}
