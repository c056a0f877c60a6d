/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The preallocations (PA) of one owner. A list holds only clusters that have not been handed out: a preallocation
 * shrinks as it is used.
 *
 * A file's preallocations (inode_pa_*, the kernel's MB_INODE_PA) are runs of logical clusters, each with its run of
 * clusters on disk; ascending and disjoint. They are used from either end, and split when clusters are taken from their
 * middle.
 *
 * A locality group's preallocations (group_pa_*, MB_GROUP_PA) are runs of clusters for small files, oldest first, each
 * used from its front. They fall into buckets by the order of their remaining length. The kernel keeps ten lists for
 * that (one locality group per processor); here the buckets are only counted, since a group usually has a single run.
 *
 * Pure and single-threaded: the thread that holds the owner's lock may call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/vector.h"

struct preallocation {
	uint64_t position; /* the first cluster's position */
	uint32_t logical;  /* the first logical cluster; 0 in a locality group */
	uint32_t count;
};

/* Zero-initialise. */
struct preallocation_list {
	struct preallocation *items;
	size_t capacity;
	uint32_t count;
	uint32_t cursor; /* index of the file's preallocation that was used last: a hint, but below capacity */
	uint32_t served; /* clusters taken from the front of the cursor's preallocation since inode_pa_alloc_served() */
};

void preallocation_list_destroy(struct preallocation_list *list);

/* Allocates room for `more` preallocations. ENOMEM. */
MUST_CHECK errcode_t preallocation_list_reserve(struct preallocation_list *list, uint32_t more);

/*
 * Returns the run that was taken from the front of the preallocation used last and that this function has not returned
 * before. False: there is none. Call this before any other function except inode_pa_alloc_front().
 */
bool inode_pa_alloc_served(struct preallocation_list *list, uint64_t *position, uint32_t *count);

/* Adds a preallocation that overlaps no other. Room must have been reserved. */
void inode_pa_add(struct preallocation_list *list, const struct preallocation *added);

/*
 * Takes up to `most` clusters from the preallocation that holds the logical cluster; taken->count is 0 if none does.
 * ENOMEM: there is no room to split a preallocation, and nothing is taken.
 */
MUST_CHECK errcode_t inode_pa_alloc_any(struct preallocation_list *list, uint32_t logical, uint32_t most,
                                        struct preallocation *taken);

/*
 * The most frequent step of a growing file: takes `most` clusters from the front of the preallocation used last. False
 * if that would use it up or is not possible.
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
 * Narrows [*start, *end) to the hole between preallocations that contains the logical cluster. No preallocation holds
 * that cluster.
 */
void inode_pa_clip_hole(const struct preallocation_list *list, uint32_t logical, uint64_t *start, uint64_t *end);

/*
 * Chooses the logical cluster for a run of `found` clusters that is shorter than the goal. The run ends at the goal's
 * end, if it then contains the request's start. Else it begins at the goal's start, if it then contains the whole
 * request. Else it begins at the request's start. All in logical clusters.
 */
uint32_t inode_pa_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count, uint32_t found);

#define GROUP_PA_ORDERS 10 /* the last bucket holds runs of 2^9 clusters and more */
#define GROUP_PA_MOST 8    /* runs in a bucket; a bucket with more is trimmed */
#define GROUP_PA_KEPT 5    /* runs that are left after trimming */

/*
 * Adds a run, merged with adjacent runs, but never across a group's border: groups begin at multiples of
 * group_clusters, and a thread that discards a run locks one group. Room must have been reserved.
 */
void group_pa_add(struct preallocation_list *list, struct preallocation run, uint32_t group_clusters);

/*
 * Takes from `least` to `most` clusters from the front of one run: among the runs of the smallest order that has one
 * with enough clusters, the one whose start is nearest to the goal. False: there is none.
 */
bool group_pa_alloc(struct preallocation_list *list, uint32_t least, uint32_t most, uint64_t goal,
                    struct preallocation *taken);

/* Takes up to `most` clusters of the run that begins at the position. False: no run begins there. */
bool group_pa_alloc_at(struct preallocation_list *list, uint64_t position, uint32_t most, struct preallocation *taken);

typedef void (*group_pa_visit)(void *context, uint64_t position, uint32_t count);

/* Visits and removes the oldest runs of buckets that have too many. */
void group_pa_trim(struct preallocation_list *list, group_pa_visit visit, void *context);
