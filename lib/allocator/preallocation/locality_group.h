/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small files share preallocations, so that they lie together, and one search serves many files. A locality group holds
 * such preallocations. Each thread has one (the kernel has one per processor), or each directory
 * (directory_locality.h).
 */
#pragma once

#include <stdatomic.h>

#include <ext2fs/ext2fs.h>

#include "allocator/preallocation/preallocation_register.h"

struct ext2mb_worker;

/* Zero-initialise, except next_clusters. */
struct locality_group {
	struct preallocation_owner owner;
	uint32_t next_clusters; /* the length of the next preallocation */
	_Atomic bool is_wanted; /* some files have stayed small; set once, read without the lock */
	ext2_ino_t newest;      /* the file that began here most recently */
	uint64_t next;          /* the position after the last preallocation; 0: there was none */

	/* For a worker's own. Any thread may close a file, and the worker may be closed before it. */
	_Atomic uint32_t files;  /* open files that may return clusters here; the memory stays until there are none */
	_Atomic uint32_t slices; /* of these, the ones that still have the rest of the slice that they began with */
	bool is_closed;          /* takes nothing back any more */
};

struct small_request {
	uint64_t goal;  /* a position: a locality group without preallocations makes its first one near it */
	uint32_t count; /* clusters */
	uint32_t most;  /* clusters to take if a preallocation has them: count or more */
	uint32_t room;  /* clusters that a preallocation should have left, if files come one after the other; 0: any */
	bool is_open;   /* the file's final size is unknown */
	bool is_in_order;  /* directories are written one after the other: use the next run that is long enough */
	bool is_scattered; /* many directories are written to and fro: each has one preallocation */
	bool in_group;     /* place a new preallocation in the goal's group, if that has any space */
	uint64_t after;    /* a position at which fewer clusters are accepted, too; 0: none */

	/* Used only by the kernel's policies: */
	uint64_t left; /* the position after the file's left neighbour; 0: it has none */
	bool is_exact; /* fallocate, which asks for no preallocation */
};

/* Whether some files have stayed small, so that preallocations are worthwhile. A hint. */
static inline bool locality_group_is_wanted(const struct locality_group *pool)
{
	return atomic_load_explicit(&pool->is_wanted, memory_order_relaxed);
}

/* The file that calls it may return clusters from now on; until locality_group_leave(). */
static inline void locality_group_join(struct locality_group *pool)
{
	atomic_fetch_add_explicit(&pool->files, 1, memory_order_relaxed);
}

/* Release: whoever then finds no file there may use the memory anew. */
static inline void locality_group_leave(struct locality_group *pool)
{
	atomic_fetch_sub_explicit(&pool->files, 1, memory_order_release);
}

static inline bool locality_group_is_left(const struct locality_group *pool)
{
	return !atomic_load_explicit(&pool->files, memory_order_acquire);
}

static inline void locality_group_want(struct locality_group *pool)
{
	if (!locality_group_is_wanted(pool))
		atomic_store_explicit(&pool->is_wanted, true, memory_order_relaxed);
}

/*
 * Takes clusters for a file from the front of a preallocation, and makes a new one if none has enough. Takes fewer than
 * count only if free space is fragmented. They count as reserved until they are served. The lock is held.
 * EXT2MB_ET_NO_SPACE, ENOMEM.
 */
MUST_CHECK errcode_t locality_group_alloc(struct ext2mb_worker *worker, struct locality_group *pool,
                                          const struct small_request *request, struct preallocation *taken);

/* With the lock held: discards the oldest preallocations of sizes that have too many. */
void locality_group_trim(struct ext2mb_worker *worker, struct locality_group *pool);

/*
 * Returns a file's reserved clusters to the locality group, or frees them if memory for that is lacking or its worker
 * has been closed. Locks.
 */
void locality_group_return(struct ext2mb_worker *worker, struct locality_group *pool, const struct preallocation *run);
