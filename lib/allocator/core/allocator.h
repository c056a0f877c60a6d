/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State that the rooms of an allocator share. State of a single room is behind a pointer: that room's header explains
 * it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "allocator/core/geometry.h"
#include "allocator/core/order_set.h"
#include "allocator/core/policy.h"
#include "ext2fs/process_claim.h"
#include "allocator/core/stats.h"
#include "allocator/core/stripe.h"
#include "ext2fs/ext2mb.h"
#include "support/problem.h"

/* GCC defines macros where clang has features. */
#if !defined(EXT2MB_DEBUG) && defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EXT2MB_DEBUG
#endif
#endif
#if !defined(EXT2MB_DEBUG) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define EXT2MB_DEBUG
#endif

struct ext2mb_worker {
	_Alignas(128) struct stats stats; /* whole pairs of lines: processors fetch them in pairs */
	struct ext2mb *mb;                /* NULL: it is closed */
	/* free/marked.h: whether the program has marked nothing of what is to be handed out; NULL: it cannot have */
	bool (*has_none_marked)(struct ext2mb_worker *worker, const struct ext2mb_extent *extent);
	struct ext2mb_worker *next;
	uint32_t number;                            /* how many were opened before it */
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
	struct group *groups;                          /* group/group.h: one for each */
	struct group_index *index;                     /* group/group_index.h */
	struct stream_goals *goals;                    /* search/stream_goals.h */
	struct preallocation_options *prealloc;        /* preallocation/preallocation.h */
	struct preallocation_register *preallocations; /* preallocation/preallocation_register.h */
	struct directory_localities *localities;       /* preallocation/directory_locality.h */
	struct directory_goals *directory_goals;       /* inode/inode_alloc.h */
	const struct contention *contention;           /* search/group_search.h: NULL but in simulations */
	_Atomic bool is_indexed;                       /* mb_optimize_scan: may be switched at any time */
	pthread_mutex_t switch_lock;                   /* one switch of it at a time; a leaf but for groups' locks */

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
	_Atomic uint32_t tid;     /* of the running transaction: frees are stamped with it, a commit begins the next */
	struct order_set pending; /* groups that have freed clusters to be released */
	pthread_mutex_t commit_lock; /* one commit at a time; a thread that has it is refused */
	ext2mb_discard_function discard;
	void *discard_context;

	/* To write: after fork() one of two processes has it. The transaction's, where the filesystem has one. */
	struct process_claim *claim;
	struct process_claim own_claim;
	pthread_mutex_t worker_lock;
	struct ext2mb_worker *workers;
	struct ext2mb_worker *closed_workers; /* to be opened again: until then, who uses one is refused */
	uint32_t workers_opened;
	struct stats closed_stats; /* of workers that are gone */
};
