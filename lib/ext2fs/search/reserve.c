// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/search/reserve.h"

#include <sched.h>

#include "ext2fs/group/group_reserved.h"
#include "ext2fs/preallocation/normalize.h"

#define HINT_SHARE 64 /* hints are renewed when a worker has reserved one part in so many of what was free */

/* The unit test includes this file and here looks at what another thread might see. */
#ifndef RESERVE_MEANWHILE
#define RESERVE_MEANWHILE(mb)
#endif

static void count_reserved(struct ext2mb_worker *worker, uint32_t clusters)
{
	/* First as allocated and then as reserved, so that no sum of a reader who runs meanwhile is below zero. */
	stats_add(&worker->stats, COUNT_CLUSTERS_ALLOCATED, clusters);
	stats_add(&worker->stats, COUNT_CLUSTERS_RESERVED, clusters);
}

errcode_t reserve_take_near(struct ext2mb_worker *worker, const struct near_request *request, uint64_t *position,
                            uint32_t *taken)
{
	errcode_t error = near_take(worker, request, position, taken);

	if (!error)
		count_reserved(worker, *taken);
	return error;
}

errcode_t reserve_take(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *position,
                       uint32_t *taken)
{
	struct scan_request scan = *request;

	scan.reserves = true;
	errcode_t error = scan_take(worker, &scan, position, taken);
	if (error)
		return error;
	count_reserved(worker, *taken);
	if (*taken < request->count)
		worker->hints_are_due = true;
	return 0;
}

void reserve_give_back(struct ext2mb *mb, struct stats *stats, uint64_t position, uint32_t count)
{
	uint32_t number = (uint32_t)(position / mb->geometry.clusters_per_group);
	struct group *group = &mb->groups[number];

	lock_wait(&group->lock);
	buddy_give(group->buddy, (uint32_t)(position % mb->geometry.clusters_per_group), count);
	group_reserved_clear(mb, position, count);
	/* Before anybody can take them: what was taken must never be more than what was there to be taken. */
	stats_add(stats, COUNT_CLUSTERS_UNRESERVED, count);
	group_leave_changed(mb, number);
	RESERVE_MEANWHILE(mb);
}

static uint64_t moves_begun(struct ext2mb *mb)
{
	return allocator_sum(mb, COUNT_MOVES_BEGUN) + atomic_load(&mb->releases_begun);
}

static uint64_t moves_ended(struct ext2mb *mb)
{
	return allocator_sum(mb, COUNT_MOVES_ENDED) + atomic_load(&mb->releases_ended);
}

errcode_t reserve_insist(struct ext2mb_worker *worker, reserve_attempt attempt, void *context)
{
	struct ext2mb *mb = worker->mb;

	/*
	 * Almost every first attempt succeeds, so only the others are to prove anything: the count of moves takes a lock
	 * and a look at all workers, and with 64 of them each request took 1.4 microseconds instead of 0.03.
	 */
	for (bool is_proof = false;; is_proof = true) {
		uint64_t ended = is_proof ? moves_ended(mb) : 0;
		errcode_t error = attempt(worker, context);

		if (error != EXT2MB_ET_NO_SPACE)
			return error;
		worker->hints_are_due = true;
		uint64_t discarded = window_register_discard(mb, &worker->stats, NULL);
		if (is_proof && !discarded && moves_begun(mb) == ended)
			return EXT2MB_ET_NO_SPACE;
		stats_add(&worker->stats, COUNT_WINDOW_DISCARDS, discarded > 0);
		sched_yield();
	}
}

struct scan_attempt {
	const struct scan_request *request;
	uint64_t *position;
	uint32_t *taken;
};

static errcode_t attempt_scan(struct ext2mb_worker *worker, void *context)
{
	struct scan_attempt *attempt = context;

	return scan_take(worker, attempt->request, attempt->position, attempt->taken);
}

errcode_t reserve_take_under_pressure(struct ext2mb_worker *worker, const struct scan_request *request,
                                      uint64_t *position, uint32_t *taken)
{
	struct scan_attempt attempt = { request, position, taken };
	errcode_t error = reserve_insist(worker, attempt_scan, &attempt);

	if (error)
		return error;
	stats_add(&worker->stats, COUNT_CLUSTERS_ALLOCATED, *taken);
	return 0;
}

uint64_t reserve_clusters(struct ext2mb *mb)
{
	/* What is gone is read first: what is left may then be too much, but not below zero. */
	uint64_t gone = allocator_sum(mb, COUNT_CLUSTERS_SERVED) + allocator_sum(mb, COUNT_CLUSTERS_UNRESERVED);

	return allocator_sum(mb, COUNT_CLUSTERS_RESERVED) - gone;
}

/* The same without sets: mb_optimize_scan is off, or the policy keeps lists. */
static int largest_order_of_all(const struct ext2mb *mb)
{
	int largest = -1;

	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		int order = group_summary_read(&mb->groups[number]).largest_order;

		if (order > largest)
			largest = order;
	}
	return largest;
}

static int largest_order(const struct ext2mb *mb)
{
	if (!atomic_load_explicit(&mb->has_default_index, memory_order_relaxed))
		return largest_order_of_all(mb);
	for (int order = (int)mb->orders - 1; order >= 0; order--)
		if (!order_set_is_empty(&mb->largest[order]))
			return order;
	return -1;
}

const struct normalize_hints *reserve_hints(struct ext2mb_worker *worker)
{
	struct ext2mb *mb = worker->mb;
	uint64_t reserved = stats_read(&worker->stats, COUNT_CLUSTERS_RESERVED);
	uint64_t free_clusters = worker->hints.free_blocks >> mb->geometry.cluster_bits;

	if (!worker->hints_are_due && reserved - worker->hints_at <= free_clusters / HINT_SHARE)
		return &worker->hints;
	uint64_t closed = allocator_sum(mb, COUNT_WINDOWS_CLOSED);
	worker->hints = (struct normalize_hints){
		.free_blocks = ext2mb_free_blocks(mb),
		.open_windows = (uint32_t)(allocator_sum(mb, COUNT_WINDOWS_OPENED) - closed),
		.largest_order = largest_order(mb),
	};
	worker->hints_at = reserved;
	worker->hints_are_due = false;
	return &worker->hints;
}
