/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where small files get their clusters from: windows that many of them share, so that they lie together and cost one
 * search for all. A thread has a pool (as a processor has in the kernel), or a directory has (directory.h).
 */
#ifndef EXT2FS_SMALL_POOL_H
#define EXT2FS_SMALL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/lock.h"
#include "ext2fs/preallocation/small_runs.h"
#include "ext2fs/preallocation/window_owner.h"
#include "support/problem.h"

struct ext2mb_worker;

/* Zero-initialise, but for window_clusters. */
struct small_pool {
	_Alignas(64) struct lock lock;
	uint32_t window_clusters; /* of the next window */
	_Atomic bool is_wanted;   /* there have been files that stayed small; set once, read without the lock */
	uint64_t next;            /* the position behind the last window; 0: there was none */
	struct small_runs runs;
};

struct small_request {
	uint64_t goal;   /* a position, near which a pool without windows begins */
	uint32_t count;  /* clusters */
	uint32_t most;   /* clusters that are welcome, if a window has them: count or more */
	bool in_group;   /* a new window is to lie in the goal's group, if that has any room */
	uint64_t behind; /* a position where a part of that is welcome, too; 0: none */
};

/* Whether there have been files that stayed small, for which windows are worth while. A hint. */
static inline bool small_pool_is_wanted(const struct small_pool *pool)
{
	return atomic_load_explicit(&pool->is_wanted, memory_order_relaxed);
}

static inline void small_pool_want(struct small_pool *pool)
{
	if (!small_pool_is_wanted(pool))
		atomic_store_explicit(&pool->is_wanted, true, memory_order_relaxed);
}

/*
 * Takes clusters for a file from the front of a window, and makes a window if none has as many; fewer than count are
 * had only if the free space is in pieces. They count as reserved until they are served. The pool's lock is held.
 * EXT2MB_ET_NO_SPACE, ENOMEM.
 */
MUST_CHECK errcode_t small_pool_take(struct ext2mb_worker *worker, struct small_pool *pool,
                                     const struct small_request *request, struct small_run *taken);

/* Gives a file's reserved clusters back to the pool, or frees them if that needs memory and there is none. Locks. */
void small_pool_return(struct ext2mb_worker *worker, struct small_pool *pool, const struct small_run *run);

/* Frees all windows, if one of them overlaps the range (NULL: always). Locks. Returns clusters. */
uint64_t small_pool_discard(struct small_pool *pool, struct ext2mb *mb, struct stats *stats,
                            const struct window_range *range);

void small_pool_visit(const struct small_pool *pool, window_visit visit, void *context);

/* The owner of the worker's own pool. */
extern const struct window_owner_kind small_pool_owner_kind;

#endif
