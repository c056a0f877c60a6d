/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an allocator has beside ours that goes the kernel's ways, all or some of them, and its tables of functions. */
#pragma once

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

	/* The one lock for all threads, the kernel's s_md_lock: only choices of before the series take it. */
	_Alignas(128) struct lock md_lock;
	uint64_t md_locks; /* times that it was taken */

	/* What kernel_groups.c knows of the groups' bitmaps. */
	enum group_loading loading;
	bool lists_loaded_only;    /* in the index: lists are in the order in which groups were loaded */
	uint32_t linear_groups;    /* mb_max_linear_groups */
	uint32_t read_ahead;       /* mb_prefetch */
	uint32_t read_ahead_most;  /* mb_prefetch_limit */
	_Atomic uint8_t *was_read; /* by group: it has been read ahead, once and for all; NULL: all are loaded */

	struct kernel_lists *lists[INDEX_KINDS]; /* in place of sets; NULL with ordered-sets */
	_Atomic bool has_stale_index;            /* it was off before patch 11: groups may be in wrong sets */
	_Atomic uint64_t bounces;

	/*
	 * Stream goals, unless they are ours: packed, stored by every allocation, at group 0 to begin with; before
	 * patches 3 and 4, with the cluster and under the lock.
	 */
	_Atomic uint32_t *goal_groups;
	_Atomic uint32_t *goal_starts;

	/*
	 * Freed clusters that wait for a commit, unless they do so our way: a record for every run, in a tree of its
	 * group and on one list under the lock. Before patch 9 every free was put on the list and then joined with each
	 * neighbour, which came off it again: up to three times the lock instead of none or one. Before patch 8 the
	 * number of waiting clusters was kept under that lock, too.
	 */
	struct kernel_record *first; /* what the next commit releases */
	struct kernel_record *last;
	uint32_t tid;
	_Atomic uint64_t pending_clusters;
	struct kernel_tree *trees; /* one for each group, under the group's lock; NULL: our way */

	struct user_policy *user; /* user_policy.h; NULL: none */
};

/* Of an allocator that policy_open() has opened. */
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
}

static inline void md_lock_leave(struct kernel_policy *kernel)
{
	lock_release(&kernel->md_lock);
}

/* The groups by order as they were before patches 10, 11 and 15. */
extern const struct index_operations kernel_index;

/* The first order from `order` on whose set has members; mb->orders: there is none. Any thread; a hint. */
unsigned int kernel_index_next_order(const struct ext2mb *mb, enum index_kind kind, unsigned int order);

/*
 * A commit releases record by record in the order in which they came, each shown to the discard function before, whose
 * first error is returned. One thread at a time.
 */
extern const struct pending_operations kernel_pending;
MUST_CHECK errcode_t kernel_pending_create(struct kernel_policy *kernel);
void kernel_pending_destroy(struct kernel_policy *kernel);

/*
 * Cold: nothing of the groups is known but their descriptors, and what a search looks into or reads ahead is loaded by
 * and by. Warm: all have been loaded.
 */
MUST_CHECK errcode_t kernel_groups_create(struct ext2mb *mb);

/* The kernel's mb_prefetch and mb_prefetch_limit for a filesystem. */
uint32_t kernel_read_ahead(const struct ext2mb *mb);
uint32_t kernel_read_ahead_most(const struct ext2mb *mb);

MUST_CHECK errcode_t kernel_groups_warm(struct ext2mb *mb);

/* search_group(), as the kernel comes to a group: it reads ahead, and in cheap criteria passes over what is not loaded.
 */
MUST_CHECK errcode_t kernel_visit(struct free_search *search, uint32_t number, bool waits);

/* A criterion begins: what is read ahead begins with its first group. */
void kernel_begin_criterion(struct free_search *search);

/* After the criteria: what was read ahead last is loaded. */
MUST_CHECK errcode_t kernel_end(struct free_search *search);

/* Measures runs buddy by buddy, until one is long enough: a run is then more than one. */
void kernel_walk(struct free_search *search, uint32_t number);

/* A small file's clusters: from the locality group, or by a search from its own group on; fallocate makes nothing. */
MUST_CHECK errcode_t kernel_small_file_alloc(struct ext2mb_worker *worker, struct locality_group *pool,
                                             const struct small_request *request, struct preallocation *taken);

/* How the sets were gone through before patches 15, 16 and 17, in any combination, and in the series. */
MUST_CHECK errcode_t kernel_sweep(struct free_search *search);

/* All groups from the start group on. */
MUST_CHECK errcode_t kernel_sweep_all(struct free_search *search, bool waits);
bool kernel_meet_busy(struct free_search *search, uint32_t number);
