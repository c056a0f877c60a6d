/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Windows of free space for small files: runs of clusters, each used up from its front, bucketed by the order of
 * what is left of them. The kernel keeps ten lists for that (one locality group per processor); here it is one
 * short array whose buckets are only counted, as there is one run most of the time.
 *
 * Pure and single-threaded: whoever holds the pool's lock may call.
 */
#ifndef EXT2FS_SMALL_RUNS_H
#define EXT2FS_SMALL_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

#define SMALL_RUNS_ORDERS 10 /* the last bucket holds all from 2^9 clusters up */
#define SMALL_RUNS_MOST 8    /* in a bucket; when there are more, it is trimmed */
#define SMALL_RUNS_KEPT 5    /* to so many */

struct small_run {
	uint64_t position;
	uint32_t count;
};

/* Zero-initialise. */
struct small_runs {
	struct small_run *runs; /* the older ones first */
	uint32_t count;
	uint32_t capacity;
};

void small_runs_destroy(struct small_runs *runs);

/* Makes room for one more. ENOMEM. */
MUST_CHECK errcode_t small_runs_reserve(struct small_runs *runs);

/*
 * Adds a run, joined with those that it touches, but never across the border of a group: groups begin at multiples of
 * group_clusters, and who gives a run back locks one. Room must have been reserved.
 */
void small_runs_add(struct small_runs *runs, struct small_run run, uint32_t group_clusters);

/*
 * Takes at least `least` and up to most clusters from the front of one run: of the smallest order that has a run
 * with as many, the one whose start is nearest to the goal. False if there is none.
 */
bool small_runs_take(struct small_runs *runs, uint32_t least, uint32_t most, uint64_t goal, struct small_run *taken);

/* Takes up to most clusters of the run that begins at the position. False if none does. */
bool small_runs_take_at(struct small_runs *runs, uint64_t position, uint32_t most, uint32_t *taken);

typedef void (*small_runs_visit)(void *context, uint64_t position, uint32_t count);

/* Drops the oldest runs of buckets that have too many, visiting each. */
void small_runs_trim(struct small_runs *runs, small_runs_visit visit, void *context);

#endif
