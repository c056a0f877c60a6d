/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who holds windows: files, and the pools of small files that threads and directories have. All are registered, so
 * that under pressure anyone's windows can be found and given back.
 *
 * An owner's windows are under a lock of its own. Who wants to discard them waits for that lock while it holds the
 * lock of a part of the register; so nobody may enter or leave the register with an owner's lock in hand.
 */
#ifndef EXT2FS_WINDOW_OWNER_H
#define EXT2FS_WINDOW_OWNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/stats.h"

#define WINDOW_REGISTER_SHARDS 64

struct ext2mb;
struct window_owner;

typedef void (*window_visit)(void *context, uint64_t position, uint32_t count);

/* Of positions: [start, end). */
struct window_range {
	uint64_t start;
	uint64_t end;
};

static inline bool window_overlaps(const struct window_range *range, uint64_t position, uint32_t count)
{
	return position < range->end && range->start < position + count;
}

struct window_owner_kind {
	/* Gives all windows back, if one of them overlaps the range (NULL: always). Returns how many clusters. */
	uint64_t (*discard)(struct window_owner *owner, struct ext2mb *mb, struct stats *stats,
	                    const struct window_range *range);
	/* Visits all windows, in clusters. No other thread runs. */
	void (*visit)(const struct window_owner *owner, window_visit visit, void *context);
	/* Clears the bits of all that has been handed out (group_reserved.h); NULL: that is done at once. */
	void (*clear_served)(struct window_owner *owner);
};

struct window_owner {
	const struct window_owner_kind *kind;
	struct window_owner *next;
	struct window_owner **link; /* to this one */
	uint32_t shard;
};

struct window_register {
	struct window_shard {
		_Alignas(64) pthread_mutex_t lock;
		struct window_owner *owners;
	} shards[WINDOW_REGISTER_SHARDS];
};

void window_register_init(struct window_register *windows);
void window_register_destroy(struct window_register *windows);

/* shard: any number; owners that different threads add should have different ones. */
void window_register_add(struct window_register *windows, struct window_owner *owner, uint32_t shard);

/* The owner has given its windows back and gets no more. */
void window_register_remove(struct window_register *windows, struct window_owner *owner);

/*
 * Gives back the windows of all owners that have one in the range (NULL: of all); waits for every owner. Returns
 * clusters. stats: the calling thread's.
 */
uint64_t window_register_discard(struct ext2mb *mb, struct stats *stats, const struct window_range *range);

/* Brings the bits of group_reserved.h up to date: waits for every owner whose clusters are cleared later. */
void window_register_clear_served(struct window_register *windows);

/* No other thread runs. */
void window_register_visit(struct window_register *windows, window_visit visit, void *context);

#endif
