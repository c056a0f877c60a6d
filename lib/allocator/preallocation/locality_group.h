/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where small files get their clusters from: preallocations that many of them share, so that they lie together and cost
 * one search for all. A thread has a locality group (as a processor has in the kernel), or a directory has
 * (directory_locality.h).
 */
#pragma once

#include <stdatomic.h>

#include <ext2fs/ext2fs.h>

#include "allocator/preallocation/preallocation_register.h"

struct ext2mb_worker;

/* Zero-initialise, but for next_clusters. */
struct locality_group {
	struct preallocation_owner owner;
	uint32_t next_clusters; /* of the next preallocation */
	_Atomic bool is_wanted; /* there have been files that stayed small; set once, read without the lock */
	ext2_ino_t newest;      /* the file that has begun here last */
	uint64_t next;          /* the position after the last preallocation; 0: there was none */
};

struct small_request {
	uint64_t goal;  /* a position, near which a locality group without preallocations begins */
	uint32_t count; /* clusters */
	uint32_t most;  /* clusters that are welcome, if a preallocation has them: count or more */
	uint32_t room; /* clusters that a preallocation had better have, where files come one after the other; 0: any */
	bool is_open;  /* where the file ends is not known */
	bool is_in_order; /* directories come one after the other: the next run that is long enough will do */
	bool in_group;    /* a new preallocation is to lie in the goal's group, if that has any room */
	uint64_t after;   /* a position where a part of that is welcome, too; 0: none */

	/* Used only by the kernel's policies: */
	uint64_t left; /* the position after the file's left neighbour; 0: it has none */
	bool is_exact; /* fallocate, which asks for no preallocation */
};

/* Whether there have been files that stayed small, for which preallocations are worth while. A hint. */
static inline bool locality_group_is_wanted(const struct locality_group *pool)
{
	return atomic_load_explicit(&pool->is_wanted, memory_order_relaxed);
}

static inline void locality_group_want(struct locality_group *pool)
{
	if (!locality_group_is_wanted(pool))
		atomic_store_explicit(&pool->is_wanted, true, memory_order_relaxed);
}

/*
 * Takes clusters for a file from the front of a preallocation, and makes a preallocation if none has as many; fewer
 * than count are had only if the free space is in pieces. They count as reserved until they are served. The lock is
 * held. EXT2MB_ET_NO_SPACE, ENOMEM.
 */
MUST_CHECK errcode_t locality_group_alloc(struct ext2mb_worker *worker, struct locality_group *pool,
                                          const struct small_request *request, struct preallocation *taken);

/* With the lock held: too many preallocations of a size are given back. */
void locality_group_trim(struct ext2mb_worker *worker, struct locality_group *pool);

/* Gives a file's reserved clusters to the group, or frees them if that needs memory and there is none. Locks. */
void locality_group_return(struct ext2mb_worker *worker, struct locality_group *pool, const struct preallocation *run);
