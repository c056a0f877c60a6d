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
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/stats.h"

#define PREALLOCATION_REGISTER_SHARDS 64

struct ext2mb;
struct preallocation_owner;

typedef void (*preallocation_visit)(void *context, uint64_t position, uint32_t count);

/* Of positions: [start, end). */
struct cluster_range {
	uint64_t start;
	uint64_t end;
};

static inline bool cluster_range_overlaps(const struct cluster_range *range, uint64_t position, uint32_t count)
{
	return position < range->end && range->start < position + count;
}

struct preallocation_owner_kind {
	/* Gives all of them back, if one overlaps the range (NULL: always). Returns how many clusters. */
	uint64_t (*give_back)(struct preallocation_owner *owner, struct ext2mb *mb, struct stats *stats,
	                      const struct cluster_range *range);
	/* Visits all of them, in clusters. No other thread runs. */
	void (*visit)(const struct preallocation_owner *owner, preallocation_visit visit, void *context);
	/* Clears the bits of all that has been handed out (group_reserved.h); NULL: that is done at once. */
	void (*clear_served)(struct preallocation_owner *owner);
};

struct preallocation_owner {
	const struct preallocation_owner_kind *kind;
	struct preallocation_owner *next;
	struct preallocation_owner **link; /* to this one */
	uint32_t shard;
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

/* Brings the bits of group_reserved.h up to date: waits for every owner whose clusters are cleared later. */
void preallocation_register_clear_served(struct preallocation_register *preallocations);

/* No other thread runs. */
void preallocation_register_visit(struct preallocation_register *preallocations, preallocation_visit visit,
                                  void *context);
