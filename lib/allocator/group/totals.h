/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts over all groups and all workers. */
#pragma once

#include <stdint.h>

#include "allocator/core/allocator.h"

/* Sums the counters [first, end) over all workers, those that are gone included, in one walk. */
void totals_sum(struct ext2mb *mb, unsigned int first, unsigned int end, uint64_t *sums);

/* The same of one. */
uint64_t totals_count(struct ext2mb *mb, unsigned int counter);

/*
 * Exact while no thread allocates. Else never below zero, and too much by no more than what was given back while this
 * was running: what was taken is read before what was given back.
 */
struct space_totals {
	uint64_t free_clusters;
	uint64_t free_inodes;
	uint64_t reserved_clusters;   /* in preallocations */
	uint64_t open_preallocations; /* preallocations of files */
};

struct space_totals totals_space(struct ext2mb *mb);

/* Counts a group as corrupt, once; the caller holds the lock of its blocks or inodes and has left them out. */
void totals_lose_group(struct ext2mb *mb, uint32_t number, uint32_t free_clusters, uint32_t free_inodes);
