/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an allocator is made of. */
#ifndef EXT2FS_ALLOCATOR_H
#define EXT2FS_ALLOCATOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "ext2fs/compare/base_goal.h"
#include "ext2fs/compare/base_lists.h"
#include "ext2fs/compare/base_lock.h"
#include "ext2fs/compare/base_pending.h"
#include "ext2fs/preallocation/directory.h"
#include "ext2fs/inode/directory_share.h"
#include "ext2fs/preallocation/directory_visits.h"
#include "ext2fs/ext2mb.h"
#include "ext2fs/fs/fs_state.h"
#include "ext2fs/search/goals.h"
#include "ext2fs/group/group.h"
#include "ext2fs/preallocation/normalize.h"
#include "ext2fs/core/order_set.h"
#include "ext2fs/core/policy.h"
#include "ext2fs/preallocation/prealloc.h"
#include "ext2fs/preallocation/small_pool.h"
#include "ext2fs/core/stats.h"
#include "ext2fs/core/stripe.h"
#include "ext2fs/preallocation/window_owner.h"

struct cluster_place {
	uint32_t group;
	uint32_t cluster; /* 0: there was none */
};

/* That no run was long enough is believed for some time, as it takes a look at all groups of an order. */
struct vain_search {
	uint32_t clusters; /* that were wanted */
	uint32_t left;     /* searches for as many or more that are spared; 0: it is to be tried again */
};

/* What ext2mb_alloc() gave a worker last, and when. */
struct hand_out {
	uint64_t position;
	uint32_t count; /* clusters; 0: nothing, or it has been given back */
	uint32_t epoch;
};

struct ext2mb_worker {
	_Alignas(128) struct stats stats; /* two lines: processors fetch them in pairs */
	struct ext2mb *mb;
	struct ext2mb_worker *next;
	uint32_t number;     /* how many were opened before it */
	uint32_t last_group; /* where it allocated last: where one without a goal begins */
	struct vain_search in_vain;
	struct cluster_place goes_on_at; /* after its last request that had neither goal nor stream */
	struct hand_out last;
	bool hints_are_due;
	uint64_t hints_at; /* clusters that it had reserved when the hints were new */
	struct normalize_hints hints;
	struct window_owner owner; /* of the pool */
	struct small_pool pool;    /* for small files, unless their directories' pools are better for them */
	struct directory_visits visits;
};

struct ext2mb {
	struct fs_state fs_state;
	struct geometry geometry; /* a copy of fs_state's, near at hand */
	uint32_t orders;
	struct group *groups;
	struct order_set largest[BUDDY_MAX_ORDERS]; /* groups by the order of their largest buddy */
	struct order_set average[BUDDY_MAX_ORDERS]; /* groups by their average fragment */
	struct order_set pending;                   /* groups that have freed clusters to be released */
	struct goals goals;
	struct stripe stripe;

	/* What was chosen, once and for all; but is_indexed (mb_optimize_scan) may be switched at any time. */
	struct policy policy;
	const struct contention *contention; /* NULL but in simulations */
	_Atomic bool is_indexed;
	_Atomic bool has_default_index; /* groups move between the sets above and leave all when full */
	bool has_default_scan;          /* those sets are gone through in scan.c's way */
	bool has_stale_index;           /* it was off before patch 11: groups may be in wrong sets */
	struct base_lists *base_lists[2]; /* by enum index_kind, in place of sets; these may be NULL */
	struct base_goals *base_goals;
	struct base_pending *base_pending;
	struct base_lock base_lock;

	struct prealloc prealloc;
	struct window_register windows;
	struct directory_table directory_table;
	struct directory_goals directory_goals;

	/* What was free when the allocator was opened, less what has been found corrupt since. */
	_Atomic uint64_t clusters_at_open;
	_Atomic uint64_t inodes_at_open;
	_Atomic uint64_t directories; /* exact while no thread allocates */
	_Atomic uint32_t corrupt_groups;
	_Atomic uint64_t build_nanoseconds; /* spent on building buddies from their bitmaps */

	/*
	 * Free space comes back only between these two counts, which begin and end a release. A sweep over all
	 * groups that waited for each one has proved that nothing is free if it found nothing and as many
	 * releases had begun at its end as had ended at its beginning: free space only shrank meanwhile.
	 */
	_Alignas(64) _Atomic uint64_t releases_begun;
	_Atomic uint64_t releases_ended;
	_Atomic uint64_t clusters_released;
	_Atomic uint32_t epoch;      /* frees are stamped with it */
	pthread_mutex_t commit_lock; /* one commit at a time; a thread that has it is refused */
	pthread_mutex_t switch_lock; /* one switch of is_indexed at a time; a leaf but for groups' locks */
	ext2mb_discard_function discard;
	void *discard_context;

	pthread_mutex_t worker_lock;
	struct ext2mb_worker *workers;
	uint32_t workers_opened;
	struct stats closed_stats; /* of workers that are gone */
};

/* Fills all of it but fs_state, which is open already. After an error, too, it is to be destroyed. */
EXT2MB_MUST_CHECK errcode_t allocator_create(struct ext2mb *mb, const struct ext2mb_options *options);

/* Frees all but fs_state. */
void allocator_destroy(struct ext2mb *mb);

/* Sums a counter over all workers, those that are gone included. */
uint64_t allocator_sum(struct ext2mb *mb, unsigned int counter);

/* Counts a group as corrupt, once; the caller holds the lock of its blocks or inodes and has left them out. */
void allocator_lose_group(struct ext2mb *mb, uint32_t number, uint32_t free_clusters, uint32_t free_inodes);

/* Whether our own policy has seen that the worker writes its small files one directory after the other. */
static inline bool worker_goes_in_order(const struct ext2mb_worker *worker)
{
	return worker->mb->prealloc.normalization == EXT2MB_NORMALIZE_EXT2MB &&
	       directory_visits_in_order(&worker->visits);
}

#endif
