/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State that the rooms of an allocator share. A pointer leads to the state of a single room, which that room's header
 * explains.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "ondisk/geometry.h"
#include "allocator/core/order_set.h"
#include "allocator/core/policy.h"
#include "ext2fs/process_claim.h"
#include "allocator/core/stats.h"
#include "allocator/core/stripe.h"
#include "ext2fs/ext2mb.h"
#include "support/problem.h"

/* clang reports sanitizers by __has_feature, GCC by macros. */
#if !defined(EXT2MB_DEBUG) && defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EXT2MB_DEBUG
#endif
#endif
#if !defined(EXT2MB_DEBUG) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define EXT2MB_DEBUG
#endif

struct ext2mb_worker {
	_Alignas(128) struct stats stats; /* a pair of cache lines: processors fetch lines in pairs */
	struct ext2mb *mb;                /* NULL: the worker is closed */
	/*
	 * free/marked.h: whether all blocks of the extent are free in the program's bitmap; NULL: the program marks
	 * none itself
	 */
	bool (*has_none_marked)(struct ext2mb_worker *worker, const struct ext2mb_extent *extent);
	struct ext2mb_worker *next;
	uint32_t number;                            /* the number of workers opened before it */
	struct search_memory *search;               /* search/search_memory.h */
	struct worker_preallocation *preallocation; /* preallocation/preallocation.h */
#ifdef EXT2MB_DEBUG
	_Atomic bool is_in_use; /* core/worker_use.h */
#endif
};

struct ext2mb {
	struct geometry geometry;
	uint32_t orders;
	struct stripe stripe;
	struct policy policy;
	struct fs_state *fs_state;                     /* fs/fs_state.h */
	struct group *groups;                          /* group/group.h: one for each block group */
	struct group_index *index;                     /* group/group_index.h */
	struct stream_goals *goals;                    /* search/stream_goals.h */
	struct preallocation_options *prealloc;        /* preallocation/preallocation.h */
	struct preallocation_register *preallocations; /* preallocation/preallocation_register.h */
	struct directory_localities *localities;       /* preallocation/directory_locality.h */
	struct directory_goals *directory_goals;       /* inode/inode_alloc.h */
	const struct contention *contention;           /* search/group_search.h: NULL but in simulations */
	_Atomic bool is_indexed;                       /* mb_optimize_scan: can be switched at any time */
	/* one switch of is_indexed at a time; only groups' locks are taken under it */
	pthread_mutex_t switch_lock;

	/* Free clusters and inodes when the allocator was opened, less those of groups found corrupt since. */
	_Atomic uint64_t clusters_at_open;
	_Atomic uint64_t inodes_at_open;
	_Atomic uint64_t directories; /* exact while no thread allocates */
	_Atomic uint32_t corrupt_groups;
	_Atomic uint64_t build_nanoseconds; /* time spent on building buddies from bitmaps */

	/*
	 * A release counts here when it begins and when it ends, and free space grows only in between. A sweep that
	 * waits for every group and finds nothing proves that nothing is free, if the releases begun at its end are as
	 * many as those ended at its start: free space only shrank meanwhile.
	 */
	_Alignas(64) _Atomic uint64_t releases_begun;
	_Atomic uint64_t releases_ended;
	_Atomic uint64_t clusters_released;
	_Atomic uint32_t tid;     /* the running transaction: frees are stamped with it, and a commit begins the next */
	struct order_set pending; /* groups with freed clusters that the next commit releases */
	/* Block and inode bitmaps that the next sync writes: counted when they become dirty, or have pending frees. */
	_Atomic uint32_t bitmaps_to_write;
	pthread_mutex_t commit_lock; /* one commit at a time; a commit from within its discard function is refused */
	ext2mb_discard_function discard;
	void *discard_context;

	/*
	 * The right to write: after fork() only one of two processes has it. It is the transaction's, if the filesystem
	 * has one.
	 */
	struct process_claim *claim;
	struct process_claim own_claim;
	pthread_mutex_t worker_lock;
	struct ext2mb_worker *workers;
	struct ext2mb_worker *closed_workers; /* reused by the next open; until then, calls with one fail */
	uint32_t workers_opened;
	struct stats closed_stats; /* the sums of closed workers */
};
