/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is reserved for one file: preallocations, each a run of logical clusters with the run of clusters on disk that
 * is kept for it. Ascending, disjoint, and only what has not been handed out: a preallocation shrinks as it is used,
 * from either end, and is parted when something is taken out of its middle.
 *
 * Pure and single-threaded: the thread that holds the file's lock may call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct inode_pa {
	uint64_t position; /* of the first cluster */
	uint32_t logical;  /* clusters */
	uint32_t count;
};

/* Zero-initialise. */
struct inode_pas {
	struct inode_pa *windows;
	uint32_t count;
	uint32_t capacity;
	uint32_t cursor; /* which one was used last: a hint, but below capacity */
	uint32_t
		served; /* clusters before the cursor's preallocation, taken from its front since inode_pa_take_served() */
};

void inode_pa_destroy(struct inode_pas *windows);

/* Makes room for so many more preallocations. ENOMEM. */
MUST_CHECK errcode_t inode_pa_reserve(struct inode_pas *windows, uint32_t more);

/*
 * What was taken from the front of the preallocation that was used last, and not returned here before: one run.
 * Anything but inode_pa_take_front() may only be called when nothing is left to be returned. False if nothing is.
 */
bool inode_pa_take_served(struct inode_pas *windows, uint64_t *position, uint32_t *count);

/* Adds one that overlaps no other. Room must have been reserved. */
void inode_pa_add(struct inode_pas *windows, const struct inode_pa *window);

/*
 * Takes up to most clusters from the preallocation that holds the logical cluster. *taken is 0 if none does. ENOMEM,
 * and nothing is taken: a preallocation is to be parted and there is no room for another.
 */
MUST_CHECK errcode_t inode_pa_take_any(struct inode_pas *windows, uint32_t logical, uint32_t most,
                                           uint64_t *position, uint32_t *taken);

/*
 * What a growing file does most: takes `most` clusters from the front of the preallocation used last, and not all of
 * it.
 */
static inline bool inode_pa_take_front(struct inode_pas *windows, uint32_t logical, uint32_t most,
                                           uint64_t *position)
{
	if (windows->cursor >= windows->count)
		return false;
	struct inode_pa *window = &windows->windows[windows->cursor];

	if (window->logical != logical || window->count <= most)
		return false;
	*position = window->position;
	window->position += most;
	window->logical += most;
	window->count -= most;
	windows->served += most;
	return true;
}

/*
 * Narrows [*start, *end), which holds the logical cluster, to what lies between preallocations. No preallocation holds
 * it.
 */
void inode_pa_clip_hole(const struct inode_pas *windows, uint32_t logical, uint64_t *start, uint64_t *end);

/*
 * Where to put a run of `found` clusters that is shorter than the goal: so that it ends where the goal does, if it
 * still holds the request's start; else where the goal starts, if it holds all of the request; else where the
 * request starts. All in logical clusters.
 */
uint32_t inode_pa_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count,
                            uint32_t found);
