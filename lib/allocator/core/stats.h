/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counters that belong to one worker: only its thread writes them, so counting is a plain load and store
 * without a locked instruction; anyone may read them at any time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/criterion.h"

enum counter {
	/* Counters that totals.h reads together, in one cache line for each worker. */
	COUNT_CLUSTERS_ALLOCATED,
	COUNT_CLUSTERS_RESERVED,     /* of those allocated, what was taken as preallocations */
	COUNT_CLUSTERS_SERVED,       /* of those reserved, what was handed out */
	COUNT_CLUSTERS_UNRESERVED,   /* and what was given back to the groups */
	COUNT_PREALLOCATIONS_OPENED, /* of files */
	COUNT_PREALLOCATIONS_CLOSED,
	COUNT_INODES_ALLOCATED,
	COUNT_INODES_FREED,
	COUNTERS_OF_SPACE,
	COUNT_REQUESTS = COUNTERS_OF_SPACE,
	COUNT_SUCCESSES,
	COUNT_GOAL_HITS,        /* exactly at the goal */
	COUNT_STREAM_GOAL_HITS, /* in the group of the stream's goal */
	COUNT_LENGTH_HITS,      /* a run of exactly the length asked for */
	COUNT_PACKED,
	COUNT_BREAKS, /* enough runs had been seen: the best of them had to do */
	COUNT_EXTENTS_SCANNED,
	COUNT_GROUPS_SCANNED,
	COUNT_BUSY_SKIPS,      /* a group that another thread held */
	COUNT_BUSY_WAITS,      /* waited for one such at equal quality */
	COUNT_LOST_CHUNKS,     /* the best extent seen was gone when it was to be taken */
	COUNT_REPEATED_SWEEPS, /* nothing found, but something had been released meanwhile */
	COUNT_FREES,
	COUNT_CLUSTERS_FREED,
	COUNT_PREALLOCATION_HITS,     /* requests that a file's own preallocation served */
	COUNT_PREALLOCATION_DISCARDS, /* of all preallocations, for want of free space */
	COUNT_LEAST_REQUESTS,         /* with a minimum of more than a cluster */
	COUNT_LEAST_REFUSALS,         /* and how many of them there was no run for */
	COUNT_MOVES_BEGUN,            /* preallocation.h */
	COUNT_MOVES_ENDED,
	COUNT_INODE_FREES_BEGUN,
	COUNT_FILES_OPENED,
	COUNT_FILES_CLOSED,
	COUNT_CRITERION_HITS,                                        /* one for each criterion, and so the next three */
	COUNT_CRITERION_EXTENTS = COUNT_CRITERION_HITS + CRITERIA,   /* runs looked at */
	COUNT_CRITERION_GROUPS = COUNT_CRITERION_EXTENTS + CRITERIA, /* considered */
	COUNT_CRITERION_FAILURES = COUNT_CRITERION_GROUPS + CRITERIA, /* gone through in vain */
	COUNTERS = COUNT_CRITERION_FAILURES + CRITERIA,
};

struct stats {
	_Atomic uint64_t counters[COUNTERS];
};

static inline void stats_add(struct stats *stats, unsigned int counter, uint64_t amount)
{
	_Atomic uint64_t *value = &stats->counters[counter];

	atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + amount, memory_order_release);
}

static inline uint64_t stats_read(const struct stats *stats, unsigned int counter)
{
	return atomic_load_explicit(&stats->counters[counter], memory_order_acquire);
}

/* Clusters were taken, as a preallocation or not. In this order, so that no sum of a reader is below zero. */
static inline void stats_count_taken(struct stats *stats, uint64_t clusters, bool is_reserved)
{
	stats_add(stats, COUNT_CLUSTERS_ALLOCATED, clusters);
	if (is_reserved)
		stats_add(stats, COUNT_CLUSTERS_RESERVED, clusters);
}

/* Adds all of from to the other, whose only writer the caller is. */
static inline void stats_merge(struct stats *into, const struct stats *from)
{
	for (unsigned int counter = 0; counter < COUNTERS; counter++)
		stats_add(into, counter, stats_read(from, counter));
}
