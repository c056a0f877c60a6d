/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that own preallocations: files, and the locality groups that threads and directories have. They are registered,
 * so that under pressure all preallocations can be found and given back.
 *
 * An owner's preallocations are under a lock of its own. A thread that gives them back waits for that lock while it
 * holds the lock of a part of the register; so no thread may enter or leave the register with an owner's lock in hand.
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
	_Alignas(64) struct lock lock; /* of the list */
	struct preallocation_list list;
	struct preallocation_owner *next;
	struct preallocation_owner **link; /* to this one */
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

/* The owner has given its preallocations back and gets no more. */
void preallocation_register_remove(struct preallocation_register *preallocations, struct preallocation_owner *owner);

/*
 * Gives back the preallocations of all owners that have one in the range (NULL: of all); waits for every owner. Returns
 * clusters. stats: the calling thread's.
 */
uint64_t preallocation_register_give_back(struct ext2mb *mb, struct stats *stats, const struct cluster_range *range);

/* Brings the bits of group_reserved.h up to date: waits for every file. */
void preallocation_register_clear_served(struct ext2mb *mb);

/* Copies all of them to found, unless that is NULL, and returns how many there are. No other thread runs. */
size_t preallocation_register_list(const struct ext2mb *mb, struct preallocation *found);

/* What lies between the two is a move: see preallocation.h. */
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

/* Gives back all of an owner's, if one of them overlaps the range (NULL: always). Locks. Returns clusters. */
uint64_t preallocation_owner_give_back(struct preallocation_owner *owner, struct ext2mb *mb, struct stats *stats,
                                       const struct cluster_range *range);

/*
 * Clears the bits of what was taken from the front of a file's last preallocation (group_reserved.h). The lock is held.
 */
void preallocation_owner_clear_served(struct preallocation_owner *owner, struct ext2mb *mb);

/*
 * Takes up to most clusters from a file's preallocation that holds the logical cluster; none if none does. The lock is
 * held. ENOMEM, and nothing is taken.
 */
MUST_CHECK errcode_t preallocation_owner_alloc_any(struct preallocation_owner *owner, struct ext2mb *mb,
                                                   uint32_t logical, uint32_t most, struct preallocation *taken);

/* The same, and what a growing file does most is done here. */
static inline MUST_CHECK errcode_t preallocation_owner_alloc(struct preallocation_owner *owner, struct ext2mb *mb,
                                                             uint32_t logical, uint32_t most,
                                                             struct preallocation *taken)
{
	if (inode_pa_alloc_front(&owner->list, logical, most, taken))
		return 0;
	return preallocation_owner_alloc_any(owner, mb, logical, most, taken);
}
