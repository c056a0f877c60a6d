/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State and tables of functions of an allocator that does some or all things as the kernel does. */
#pragma once

#include <sys/queue.h>

#include "compare/kernel_lists.h"
#include "compare/policies.h"
#include "allocator/core/lock.h"
#include "allocator/group/group_index.h"
#include "allocator/group/pending_free.h"
#include "allocator/inode/inode_alloc.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/search/group_search.h"
#include "allocator/search/stream_goals.h"

struct user_policy;
struct kernel_record;
struct kernel_tree;

struct kernel_policy {
	uint32_t choices;
	uint32_t groups;
	struct goal_operations goal_operations;
	struct search_operations search_operations;

	/* The kernel's s_md_lock, global to all threads. Only choices from before the series take it. */
	_Alignas(128) struct lock md_lock;
	uint64_t md_locks; /* how often it was taken */

	const struct lock_observer *observer; /* of simulated runs; NULL: none */

	/* kernel_groups.c's state of the groups' bitmaps. */
	enum group_loading loading;
	bool lists_loaded_only;    /* only loaded groups are in the lists, in the order of loading */
	uint32_t linear_groups;    /* mb_max_linear_groups */
	uint32_t read_ahead;       /* mb_prefetch */
	uint32_t read_ahead_most;  /* mb_prefetch_limit */
	_Atomic uint8_t *was_read; /* by group: whether it has been read ahead; NULL: all are loaded */

	struct kernel_lists *lists[INDEX_KINDS]; /* in place of sets; NULL with ordered-sets */
	_Atomic bool has_stale_index;            /* the index was off before patch 11: groups may be in wrong sets */
	_Atomic uint64_t bounces;

	/*
	 * Stream goals of the kernel's kind: packed, stored by every allocation, initially group 0; before patches 3
	 * and 4 with the cluster and under the lock.
	 */
	_Atomic uint32_t *goal_groups;
	_Atomic uint32_t *goal_starts;

	/*
	 * Freed clusters that wait for a commit, in the kernel's way: a record for every run, in its group's tree and
	 * on one list under the lock. Before patch 9 every free was put on the list and then merged with each
	 * neighbour, which was removed from the list: that takes the lock up to three times instead of once or never.
	 * Before patch 8 the lock protected the number of waiting clusters, too.
	 */
	TAILQ_HEAD(kernel_records, kernel_record) records; /* that the next commit releases */
	uint32_t tid;
	_Atomic uint64_t pending_clusters;
	struct kernel_tree *trees; /* one for each group, under the group's lock; NULL: our way */

	struct user_policy *user; /* user_policy.h; NULL: none */
};

/* For an allocator that policy_open() has opened. */
static inline struct kernel_policy *kernel_policy_of(const struct ext2mb *mb)
{
	return mb->policy.state;
}

static inline bool kernel_chooses(const struct ext2mb *mb, uint32_t choice)
{
	return kernel_policy_of(mb)->choices & choice;
}

static inline void md_lock_enter(struct kernel_policy *kernel)
{
	lock_wait(&kernel->md_lock);
	kernel->md_locks++;
	if (kernel->observer)
		kernel->observer->global(kernel->observer->context);
}

/* Tells who observes a simulated run that the list's lock was taken. */
static inline void kernel_note_list(const struct kernel_policy *kernel, enum index_kind kind, unsigned int order)
{
	if (kernel->observer && kernel->lists[kind])
		kernel->observer->list(kernel->observer->context, kind * BUDDY_MAX_ORDERS + order);
}

_Static_assert(INDEX_KINDS *BUDDY_MAX_ORDERS <= POLICY_MOST_LISTS, "each list has a number");

static inline void md_lock_leave(struct kernel_policy *kernel)
{
	lock_release(&kernel->md_lock);
}

/* The groups by order as they were before patches 10, 11 and 15. */
extern const struct index_operations kernel_index;

/* Returns the first order from `order` on whose set has members; mb->orders if there is none. Any thread; a hint. */
unsigned int kernel_index_next_order(const struct ext2mb *mb, enum index_kind kind, unsigned int order);

/*
 * A commit releases the records in the order of their frees, and passes each to the discard function before; returns
 * that function's first error. One thread at a time.
 */
extern const struct pending_operations kernel_pending;
MUST_CHECK errcode_t kernel_pending_create(struct kernel_policy *kernel);
void kernel_pending_destroy(struct kernel_policy *kernel);

/*
 * Cold: only the groups' descriptors have been read, and searches load the groups that they visit or read ahead.
 * Warm: all groups are loaded.
 */
MUST_CHECK errcode_t kernel_groups_create(struct ext2mb *mb);

/* The kernel's mb_prefetch and mb_prefetch_limit for a filesystem. */
uint32_t kernel_read_ahead(const struct ext2mb *mb);
uint32_t kernel_read_ahead_most(const struct ext2mb *mb);

/* search_group() as the kernel does it: reads ahead, and with cheap criteria skips groups that are not loaded. */
MUST_CHECK errcode_t kernel_visit(struct free_search *search, uint32_t number, bool waits);

/* Called when a criterion begins: reading ahead begins with its first group. */
void kernel_begin_criterion(struct free_search *search);

/* Called after the criteria: loads the groups that were read ahead last. */
MUST_CHECK errcode_t kernel_end(struct free_search *search);

/* Measures free extents buddy by buddy until one is long enough, so one run of free clusters may count as several
 * extents. */
void kernel_walk(struct free_search *search, uint32_t number);

/* Allocates a small file's clusters: from the locality group, or by a search from the file's group on; fallocate
 * preallocates nothing. */
MUST_CHECK errcode_t kernel_small_file_alloc(struct ext2mb_worker *worker, struct locality_group *pool,
                                             const struct small_request *request, struct preallocation *taken);

/* Scans the sets as before patches 15, 16 and 17, in any combination, and as in the series. */
MUST_CHECK errcode_t kernel_sweep(struct free_search *search);

/* Scans all groups from the start group on. */
MUST_CHECK errcode_t kernel_sweep_all(struct free_search *search, bool waits);
bool kernel_meet_busy(struct free_search *search, uint32_t number);
