/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The preallocations (PA) of one owner. What an owner has of them has not been handed out: a preallocation shrinks as
 * it is used.
 *
 * Those of a file (inode_pa_*, the kernel's MB_INODE_PA) are runs of logical clusters, each with the run of clusters on
 * disk that is kept for it: ascending and disjoint. They are used from either end, and parted when something is taken
 * out of their middle.
 *
 * Those of a locality group (group_pa_*, MB_GROUP_PA) are runs of clusters for small files, the older ones first, each
 * used from its front, bucketed by the order of what is left of them. The kernel keeps ten lists for that (one locality
 * group per processor); here the buckets are only counted, as there is one run most of the time.
 *
 * Pure and single-threaded: the thread that holds the owner's lock may call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/vector.h"

struct preallocation {
	uint64_t position; /* of the first cluster */
	uint32_t logical;  /* clusters; 0 where it is no file's */
	uint32_t count;
};

/* Zero-initialise. */
struct preallocation_list {
	struct preallocation *items;
	size_t capacity;
	uint32_t count;
	uint32_t cursor; /* which one of a file was used last: a hint, but below capacity */
	uint32_t served; /* clusters before the cursor's, taken from its front since inode_pa_alloc_served() */
};

void preallocation_list_destroy(struct preallocation_list *list);

/* Makes room for so many more. ENOMEM. */
MUST_CHECK errcode_t preallocation_list_reserve(struct preallocation_list *list, uint32_t more);

/*
 * What was taken from the front of the preallocation that was used last, and not returned here before: one run.
 * Anything but inode_pa_alloc_front() may only be called when nothing is left to be returned. False if nothing is.
 */
bool inode_pa_alloc_served(struct preallocation_list *list, uint64_t *position, uint32_t *count);

/* Adds one that overlaps no other. Room must have been reserved. */
void inode_pa_add(struct preallocation_list *list, const struct preallocation *added);

/*
 * Takes up to most clusters from the preallocation that holds the logical cluster; their count is 0 if none does.
 * ENOMEM, and nothing is taken: a preallocation is to be parted and there is no room for another.
 */
MUST_CHECK errcode_t inode_pa_alloc_any(struct preallocation_list *list, uint32_t logical, uint32_t most,
                                        struct preallocation *taken);

/*
 * The most frequent step of a growing file: takes `most` clusters from the front of the preallocation used last, and
 * not all of it.
 */
static inline bool inode_pa_alloc_front(struct preallocation_list *list, uint32_t logical, uint32_t most,
                                        struct preallocation *taken)
{
	if (list->cursor >= list->count)
		return false;
	struct preallocation *last = &list->items[list->cursor];

	if (last->logical != logical || last->count <= most)
		return false;
	taken->position = last->position;
	taken->count = most;
	last->position += most;
	last->logical += most;
	last->count -= most;
	list->served += most;
	return true;
}

/*
 * Narrows [*start, *end), which holds the logical cluster, to what lies between preallocations. No preallocation holds
 * it.
 */
void inode_pa_clip_hole(const struct preallocation_list *list, uint32_t logical, uint64_t *start, uint64_t *end);

/*
 * Where to put a run of `found` clusters that is shorter than the goal: so that it ends where the goal does, if it
 * still holds the request's start; else where the goal starts, if it holds all of the request; else where the
 * request starts. All in logical clusters.
 */
uint32_t inode_pa_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count, uint32_t found);

#define GROUP_PA_ORDERS 10 /* the last bucket holds all from 2^9 clusters up */
#define GROUP_PA_MOST 8    /* in a bucket; when there are more, it is trimmed */
#define GROUP_PA_KEPT 5    /* to so many */

/*
 * Adds a run, joined with those that it touches, but never across the border of a group: groups begin at multiples of
 * group_clusters, and who gives a run back locks one. Room must have been reserved.
 */
void group_pa_add(struct preallocation_list *list, struct preallocation run, uint32_t group_clusters);

/*
 * Takes at least `least` and up to most clusters from the front of one run: of the smallest order that has a run
 * with as many, the one whose start is nearest to the goal. False if there is none.
 */
bool group_pa_alloc(struct preallocation_list *list, uint32_t least, uint32_t most, uint64_t goal,
                    struct preallocation *taken);

/* Takes up to most clusters of the run that begins at the position. False if none does. */
bool group_pa_alloc_at(struct preallocation_list *list, uint64_t position, uint32_t most, struct preallocation *taken);

typedef void (*group_pa_visit)(void *context, uint64_t position, uint32_t count);

/* Drops the oldest runs of buckets that have too many, visiting each. */
void group_pa_trim(struct preallocation_list *list, group_pa_visit visit, void *context);
