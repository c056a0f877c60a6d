/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counters of one worker. Only its thread writes them, so counting is a plain load and store without a locked
 * instruction. Any thread may read them at any time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/criterion.h"

enum counter {
	/* Counters that totals.h reads together, in one cache line for each worker. */
	COUNT_CLUSTERS_ALLOCATED,
	COUNT_CLUSTERS_RESERVED,     /* the part of those allocated that was taken as preallocations */
	COUNT_CLUSTERS_SERVED,       /* the part of those reserved that was handed out */
	COUNT_CLUSTERS_UNRESERVED,   /* the part of those reserved that was given back to the groups */
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
	COUNT_BREAKS, /* mb_max_to_scan runs had been seen, and the best of them was taken */
	COUNT_EXTENTS_SCANNED,
	COUNT_GROUPS_SCANNED,
	COUNT_BUSY_SKIPS,      /* groups skipped because another thread held the lock */
	COUNT_BUSY_WAITS,      /* waits for such a group instead of a lower criterion */
	COUNT_LOST_CHUNKS,     /* the best extent had been taken by another thread meanwhile */
	COUNT_REPEATED_SWEEPS, /* sweeps repeated because clusters were released meanwhile */
	COUNT_FREES,
	COUNT_CLUSTERS_FREED,
	COUNT_PREALLOCATION_HITS,     /* requests that a file's own preallocation served */
	COUNT_PREALLOCATION_DISCARDS, /* times that all preallocations were discarded for lack of space */
	COUNT_LEAST_REQUESTS,         /* requests with a minimum of more than a cluster */
	COUNT_LEAST_REFUSALS,         /* those of them for which there was no run */
	COUNT_MOVES_BEGUN,            /* preallocation.h */
	COUNT_MOVES_ENDED,
	COUNT_INODE_FREES_BEGUN,
	COUNT_FILES_OPENED,
	COUNT_FILES_CLOSED,
	/* one counter for each criterion; the next three likewise */
	COUNT_CRITERION_HITS,
	COUNT_CRITERION_EXTENTS = COUNT_CRITERION_HITS + CRITERIA,    /* runs looked at */
	COUNT_CRITERION_GROUPS = COUNT_CRITERION_EXTENTS + CRITERIA,  /* considered */
	COUNT_CRITERION_FAILURES = COUNT_CRITERION_GROUPS + CRITERIA, /* searches that found nothing */
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

/* Counts clusters that were taken, as a preallocation or not. The order keeps every reader's sum above or at zero. */
static inline void stats_count_taken(struct stats *stats, uint64_t clusters, bool is_reserved)
{
	stats_add(stats, COUNT_CLUSTERS_ALLOCATED, clusters);
	if (is_reserved)
		stats_add(stats, COUNT_CLUSTERS_RESERVED, clusters);
}

/* Adds all counters of `from` to `into`, whose only writer is the caller. */
static inline void stats_merge(struct stats *into, const struct stats *from)
{
	for (unsigned int counter = 0; counter < COUNTERS; counter++)
		stats_add(into, counter, stats_read(from, counter));
}
