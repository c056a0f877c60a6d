/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums over all groups and all workers. */
#pragma once

#include <stdint.h>

#include "allocator/core/allocator.h"

/* Sums the counters [first, end) over all workers, including closed ones, in one pass. */
void totals_sum(struct ext2mb *mb, unsigned int first, unsigned int end, uint64_t *sums);

/* The same for one counter. */
uint64_t totals_count(struct ext2mb *mb, unsigned int counter);

/*
 * Exact while no thread allocates. Otherwise never below zero, and too large by at most the clusters given back
 * meanwhile: the function reads the counters of allocations before those of frees.
 */
struct space_totals {
	uint64_t free_clusters;
	uint64_t free_inodes;
	uint64_t reserved_clusters;   /* in preallocations */
	uint64_t open_preallocations; /* preallocations of files */
};

struct space_totals totals_space(struct ext2mb *mb);

/*
 * Counts a group as corrupt, once. The caller holds the lock of its blocks or inodes, and excludes them from
 * allocation.
 */
void totals_lose_group(struct ext2mb *mb, uint32_t number, uint32_t free_clusters, uint32_t free_inodes);
