/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/group/totals.h"

#include "allocator/group/group.h"

static void add(const struct stats *stats, unsigned int first, unsigned int end, uint64_t *sums)
{
	for (unsigned int counter = first; counter < end; counter++)
		sums[counter - first] += stats_read(stats, counter);
}

void totals_sum(struct ext2mb *mb, unsigned int first, unsigned int end, uint64_t *sums)
{
	for (unsigned int counter = first; counter < end; counter++)
		sums[counter - first] = 0;
	pthread_mutex_lock(&mb->worker_lock);
	add(&mb->closed_stats, first, end, sums);
	for (const struct ext2mb_worker *worker = mb->workers; worker; worker = worker->next)
		add(&worker->stats, first, end, sums);
	pthread_mutex_unlock(&mb->worker_lock);
}

uint64_t totals_count(struct ext2mb *mb, unsigned int counter)
{
	uint64_t sum;

	totals_sum(mb, counter, counter + 1, &sum);
	return sum;
}

struct space_totals totals_space(struct ext2mb *mb)
{
	uint64_t before[COUNTERS_OF_SPACE], after[COUNTERS_OF_SPACE];

	totals_sum(mb, 0, COUNTERS_OF_SPACE, before);
	totals_sum(mb, 0, COUNTERS_OF_SPACE, after);
	return (struct space_totals){
		.free_clusters = mb->clusters_at_open + mb->clusters_released + after[COUNT_CLUSTERS_UNRESERVED] -
		                 before[COUNT_CLUSTERS_ALLOCATED],
		.free_inodes = mb->inodes_at_open + after[COUNT_INODES_FREED] - before[COUNT_INODES_ALLOCATED],
		.reserved_clusters = after[COUNT_CLUSTERS_RESERVED] - before[COUNT_CLUSTERS_SERVED] -
		                     before[COUNT_CLUSTERS_UNRESERVED],
		.open_preallocations = after[COUNT_PREALLOCATIONS_OPENED] - before[COUNT_PREALLOCATIONS_CLOSED],
	};
}

void totals_lose_group(struct ext2mb *mb, uint32_t number, uint32_t free_clusters, uint32_t free_inodes)
{
	/* Blocks and inodes are counted one after the other, perhaps by two threads. */
	if (!atomic_exchange_explicit(&mb->groups[number].is_counted_corrupt, true, memory_order_relaxed))
		atomic_fetch_add_explicit(&mb->corrupt_groups, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&mb->clusters_at_open, free_clusters, memory_order_relaxed);
	atomic_fetch_sub_explicit(&mb->inodes_at_open, free_inodes, memory_order_relaxed);
}
