/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is reserved for one file: windows, each a run of logical clusters with the run of clusters on disk that is
 * kept for it. Ascending, disjoint, and only what has not been handed out: a window shrinks as it is used, from
 * either end, and is parted when something is taken out of its middle.
 *
 * Pure and single-threaded: whoever holds the file's lock may call.
 */
#ifndef EXT2FS_FILE_WINDOWS_H
#define EXT2FS_FILE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct file_window {
	uint64_t position; /* of the first cluster */
	uint32_t logical;  /* clusters */
	uint32_t count;
};

/* Zero-initialise. */
struct file_windows {
	struct file_window *windows;
	uint32_t count;
	uint32_t capacity;
	uint32_t cursor; /* which one was used last: a hint, but below capacity */
};

void file_windows_destroy(struct file_windows *windows);

/* Makes room for so many more windows. ENOMEM. */
MUST_CHECK errcode_t file_windows_reserve(struct file_windows *windows, uint32_t more);

/* Adds one that overlaps no other. Room must have been reserved. */
void file_windows_add(struct file_windows *windows, const struct file_window *window);

/*
 * Takes up to most clusters from the window that holds the logical cluster. *taken is 0 if none does. ENOMEM, and
 * nothing is taken: a window is to be parted and there is no room for another.
 */
MUST_CHECK errcode_t file_windows_take_any(struct file_windows *windows, uint32_t logical, uint32_t most,
                                           uint64_t *position, uint32_t *taken);

/* The same; what a growing file does most is done here: taking from the front of the last one, and not all of it. */
static inline MUST_CHECK errcode_t file_windows_take(struct file_windows *windows, uint32_t logical, uint32_t most,
                                                     uint64_t *position, uint32_t *taken)
{
	if (windows->cursor < windows->count) {
		struct file_window *window = &windows->windows[windows->cursor];

		if (window->logical == logical && window->count > most) {
			*position = window->position;
			*taken = most;
			window->position += most;
			window->logical += most;
			window->count -= most;
			return 0;
		}
	}
	return file_windows_take_any(windows, logical, most, position, taken);
}

/* Narrows [*start, *end), which holds the logical cluster, to what lies between windows. No window holds it. */
void file_windows_clip_hole(const struct file_windows *windows, uint32_t logical, uint64_t *start, uint64_t *end);

/*
 * Where to put a run of `found` clusters that is shorter than the goal: so that it ends where the goal does, if it
 * still holds the request's start; else where the goal starts, if it holds all of the request; else where the
 * request starts. All in logical clusters.
 */
uint32_t file_windows_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count,
                            uint32_t found);

#endif
