/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The register of all owners of preallocations: files, and the locality groups of threads and directories. With it, all
 * preallocations can be found and discarded when free space runs out.
 *
 * An owner's lock protects its preallocations. A thread that discards them waits for that lock while it holds the lock
 * of a shard of the register. So no thread may add or remove an owner while it holds an owner's lock.
 */
#pragma once

#include <pthread.h>

#include "allocator/core/lock.h"
#include "allocator/core/stats.h"
#include "allocator/preallocation/preallocation_list.h"

#define PREALLOCATION_REGISTER_SHARDS 64

struct ext2mb;

/* A range of positions: [start, end). */
struct cluster_range {
	uint64_t start;
	uint64_t end;
};

/* Zero-initialise. */
struct preallocation_owner {
	_Alignas(64) struct lock lock; /* protects the list */
	struct preallocation_list list;
	struct preallocation_owner *next;
	struct preallocation_owner **link; /* the pointer to this owner */
	uint32_t shard;
	bool is_file; /* else a locality group */
};

struct preallocation_register {
	struct preallocation_shard {
		_Alignas(64) pthread_mutex_t lock;
		struct preallocation_owner *owners;
	} shards[PREALLOCATION_REGISTER_SHARDS];
};

void preallocation_register_init(struct preallocation_register *preallocations);
void preallocation_register_destroy(struct preallocation_register *preallocations);

/* shard: any number; owners that different threads add should have different ones. */
void preallocation_register_add(struct preallocation_register *preallocations, struct preallocation_owner *owner,
                                uint32_t shard);

/* Removes an owner, whose preallocations have been discarded and which gets no more. */
void preallocation_register_remove(struct preallocation_register *preallocations, struct preallocation_owner *owner);

/*
 * Discards the preallocations of each owner that has one in the range (NULL: of all owners). Waits for every owner.
 * Returns the number of clusters. stats: the calling thread's.
 */
uint64_t preallocation_register_give_back(struct ext2mb *mb, struct stats *stats, const struct cluster_range *range);

/* Brings the bits of group_reserved.h up to date: waits for every file. */
void preallocation_register_clear_served(struct ext2mb *mb);

/* Copies all preallocations to found, unless that is NULL, and returns their number. No other thread runs. */
size_t preallocation_register_list(const struct ext2mb *mb, struct preallocation *found);

/* The code between these two calls is a move (preallocation.h). */
static inline void preallocation_move_begin(struct stats *stats)
{
	stats_add(stats, COUNT_MOVES_BEGUN, 1);
}

static inline void preallocation_move_end(struct stats *stats)
{
	stats_add(stats, COUNT_MOVES_ENDED, 1);
}

/* Makes preallocated clusters free again. Within a move and with the lock of their owner held. */
void preallocation_give_back(struct ext2mb *mb, struct stats *stats, uint64_t position, uint32_t count);

/*
 * Discards all of an owner's preallocations, if one of them overlaps the range (NULL: always). Locks the owner. Returns
 * the number of clusters.
 */
uint64_t preallocation_owner_give_back(struct preallocation_owner *owner, struct ext2mb *mb, struct stats *stats,
                                       const struct cluster_range *range);

/*
 * Clears the bits (group_reserved.h) of clusters taken from the front of the file's last used preallocation. The lock
 * is held.
 */
void preallocation_owner_clear_served(struct preallocation_owner *owner, struct ext2mb *mb);

/*
 * Takes up to `most` clusters from the file's preallocation that holds the logical cluster; taken->count is 0 if none
 * does. The lock is held. ENOMEM: nothing is taken.
 */
MUST_CHECK errcode_t preallocation_owner_alloc_any(struct preallocation_owner *owner, struct ext2mb *mb,
                                                   uint32_t logical, uint32_t most, struct preallocation *taken);

/* The same, with the most frequent step of a growing file inlined. */
static inline MUST_CHECK errcode_t preallocation_owner_alloc(struct preallocation_owner *owner, struct ext2mb *mb,
                                                             uint32_t logical, uint32_t most,
                                                             struct preallocation *taken)
{
	if (inode_pa_alloc_front(&owner->list, logical, most, taken))
		return 0;
	return preallocation_owner_alloc_any(owner, mb, logical, most, taken);
}
