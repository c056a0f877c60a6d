/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preallocations of free space for small files: runs of clusters, each used up from its front, bucketed by the order of
 * what is left of them. The kernel keeps ten lists for that (one locality group per processor); here it is one
 * short array whose buckets are only counted, as there is one run most of the time.
 *
 * Pure and single-threaded: the thread that holds the pool's lock may call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

#define GROUP_PA_ORDERS 10 /* the last bucket holds all from 2^9 clusters up */
#define GROUP_PA_MOST 8    /* in a bucket; when there are more, it is trimmed */
#define GROUP_PA_KEPT 5    /* to so many */

struct group_pa {
	uint64_t position;
	uint32_t count;
};

/* Zero-initialise. */
struct group_pas {
	struct group_pa *runs; /* the older ones first */
	uint32_t count;
	uint32_t capacity;
};

void group_pa_destroy(struct group_pas *runs);

/* Makes room for one more. ENOMEM. */
MUST_CHECK errcode_t group_pa_reserve(struct group_pas *runs);

/*
 * Adds a run, joined with those that it touches, but never across the border of a group: groups begin at multiples of
 * group_clusters, and who gives a run back locks one. Room must have been reserved.
 */
void group_pa_add(struct group_pas *runs, struct group_pa run, uint32_t group_clusters);

/*
 * Takes at least `least` and up to most clusters from the front of one run: of the smallest order that has a run
 * with as many, the one whose start is nearest to the goal. False if there is none.
 */
bool group_pa_take(struct group_pas *runs, uint32_t least, uint32_t most, uint64_t goal, struct group_pa *taken);

/* Takes up to most clusters of the run that begins at the position. False if none does. */
bool group_pa_take_at(struct group_pas *runs, uint64_t position, uint32_t most, uint32_t *taken);

typedef void (*group_pa_visit)(void *context, uint64_t position, uint32_t count);

/* Drops the oldest runs of buckets that have too many, visiting each. */
void group_pa_trim(struct group_pas *runs, group_pa_visit visit, void *context);
