/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One block group: its buddy under its own lock (the truth), and a summary that any thread may read (a hint).
 *
 * The lock protects all members from `lock` on, except the bits of group_reserved.h. A thread publishes the summary
 * before it releases the lock. The summary has a cache line of its own, so that reading it does not disturb threads
 * that hold or wait for the lock.
 *
 * Only group_lock() and group_try_lock() take the lock, and group_leave() or group_leave_changed() releases it.
 * group_enter() takes it and reads the bitmap.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/buddy.h"
#include "allocator/core/lock.h"
#include "allocator/group/pending_free.h"
#include "ondisk/geometry.h"

enum group_state {
	GROUP_UNTOUCHED, /* only the descriptor has been read */
	GROUP_LOADED,
	GROUP_CORRUPT, /* its descriptor, bitmap and other metadata contradict each other: the allocator skips it */
};

/*
 * A hint about a group's free space in one word, readable without the lock. For a group whose bitmap has not been read,
 * it is the best case.
 */
struct group_summary {
	uint32_t free_clusters;
	uint32_t fragments;
	int largest_order; /* -1: full */
	int average_order; /* k: the average fragment has [2^(k+1), 2^(k+2)) clusters, 0: [1, 4); -1: full */
	enum group_state state;
};

/* The kernel's fls(): one more than the number of the highest set bit; 0 if none is set. */
static inline unsigned int last_set(uint32_t value)
{
	return value ? 32 - (unsigned int)__builtin_clz(value) : 0;
}

/* fls(free / fragments) - 2, within the orders; -1 for a full group. */
static inline int group_average_order(uint32_t free_clusters, uint32_t fragments, uint32_t orders)
{
	if (!free_clusters || !fragments)
		return -1;
	int order = (int)last_set(free_clusters / fragments) - 2;
	if (order < 0)
		return 0;
	return order < (int)orders ? order : (int)orders - 1;
}

/* The indexes of groups: by the order of the largest buddy, and by the average fragment. */
enum index_kind {
	INDEX_LARGEST,
	INDEX_AVERAGE,
	INDEX_KINDS,
};

static inline int group_summary_order(const struct group_summary *summary, enum index_kind kind)
{
	return kind == INDEX_LARGEST ? summary->largest_order : summary->average_order;
}

#define SUMMARY_COUNT_BITS 20 /* 64 KiB blocks: 2^19 clusters */
#define SUMMARY_COUNT_MASK ((UINT64_C(1) << SUMMARY_COUNT_BITS) - 1)
#define SUMMARY_ORDER_BITS 6
#define SUMMARY_ORDER_MASK ((UINT64_C(1) << SUMMARY_ORDER_BITS) - 1)

static inline uint64_t group_summary_pack(const struct group_summary *summary)
{
	uint64_t orders = (uint64_t)(summary->largest_order + 1) |
	                  (uint64_t)(summary->average_order + 1) << SUMMARY_ORDER_BITS |
	                  (uint64_t)summary->state << 2 * SUMMARY_ORDER_BITS;

	return summary->free_clusters | (uint64_t)summary->fragments << SUMMARY_COUNT_BITS |
	       orders << 2 * SUMMARY_COUNT_BITS;
}

static inline struct group_summary group_summary_unpack(uint64_t packed)
{
	uint64_t orders = packed >> 2 * SUMMARY_COUNT_BITS;

	return (struct group_summary){
		.free_clusters = (uint32_t)(packed & SUMMARY_COUNT_MASK),
		.fragments = (uint32_t)(packed >> SUMMARY_COUNT_BITS & SUMMARY_COUNT_MASK),
		.largest_order = (int)(orders & SUMMARY_ORDER_MASK) - 1,
		.average_order = (int)(orders >> SUMMARY_ORDER_BITS & SUMMARY_ORDER_MASK) - 1,
		.state = (enum group_state)(orders >> 2 * SUMMARY_ORDER_BITS),
	};
}

/*
 * Whether a run of this many clusters may be free there: it would contain a buddy of more than a quarter of its length.
 */
static inline bool group_summary_may_have(const struct group_summary *summary, uint32_t clusters)
{
	return summary->free_clusters >= clusters && summary->largest_order >= 0 &&
	       4u << summary->largest_order >= clusters;
}

/* The group's inodes, under their own lock. Threads change the counts under it and read them without it. */
struct inode_group {
	struct lock lock;
	_Atomic uint32_t free_inodes;
	_Atomic uint32_t directories;
	uint32_t first_free;    /* no inode before it is free */
	uint32_t unused_inodes; /* at the end of the table, never used */
	uint8_t state;          /* enum group_state */
	bool is_dirty;
	uint64_t *bitmap; /* once loaded */
};

struct group {
	/*
	 * Stored with release and read with acquire order: a thread that finds the group full also sees the move that
	 * filled it (preallocation.h).
	 */
	_Alignas(64) _Atomic uint64_t summary;
	struct inode_group inodes;
	_Atomic bool is_counted_corrupt;
	_Atomic uint32_t longest; /* an upper bound for free runs, in clusters. A hint, copied from the buddy */

	_Alignas(64) struct lock lock;
	uint8_t state;         /* enum group_state */
	bool is_dirty;         /* its bitmap differs from the disk's */
	bool is_to_be_written; /* the same, or will be after a commit: counted in bitmaps_to_write */
	/* the set of each kind that contains the group, -1: none; changes only together with the set */
	int8_t set[INDEX_KINDS];
	struct buddy *buddy; /* once loaded */
	struct pending_free pending;
	_Atomic uint64_t *_Atomic reserved; /* group_reserved.h; NULL: no preallocation ever lay here */
};

static inline void group_lock(struct group *group)
{
	lock_wait(&group->lock);
}

static inline bool group_try_lock(struct group *group)
{
	return lock_try(&group->lock);
}

static inline struct group_summary group_summary_read(const struct group *group)
{
	return group_summary_unpack(atomic_load_explicit(&group->summary, memory_order_acquire));
}

static inline uint32_t group_free_clusters(const struct group *group)
{
	return (uint32_t)(atomic_load_explicit(&group->summary, memory_order_relaxed) & SUMMARY_COUNT_MASK);
}

static inline uint32_t group_longest(const struct group *group)
{
	return atomic_load_explicit(&group->longest, memory_order_acquire);
}

struct ext2mb;

/* Initialises all groups from their descriptors, without I/O. ENOMEM. */
MUST_CHECK errcode_t group_table_create(struct ext2mb *mb);
void group_table_destroy(struct ext2mb *mb);

/*
 * With the group's lock held: reads and builds its buddy on first touch. EXT2MB_ET_CORRUPT_GROUP, ENOMEM;
 * the lock stays held.
 */
MUST_CHECK errcode_t group_load(struct ext2mb *mb, uint32_t number);

/* Locks and loads; on error the lock is not held. */
MUST_CHECK errcode_t group_enter(struct ext2mb *mb, uint32_t number);

/* Publishes the summary, moves the group to its new index sets, and releases the lock. */
void group_leave_changed(struct ext2mb *mb, uint32_t number);

/* With the group's lock held: notes the length of the longest run, after a search has measured all of them. */
void group_note_longest(struct ext2mb *mb, uint32_t number, uint32_t clusters);

/* With the group's lock held: the next sync will write its block bitmap. */
void group_note_change(struct ext2mb *mb, uint32_t number);

/* Releases the lock of a group that was only read. */
void group_leave(struct ext2mb *mb, uint32_t number);

/* Takes free clusters of a group whose lock is held. */
void group_alloc(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);

/*
 * Locks all groups of a range of clusters by calling enter for the range's part in each. If all succeed, it calls
 * change for each part, which leaves the group. Else it changes nothing and returns the error. Only this function holds
 * more than one group's lock; it takes them in ascending order, so it cannot deadlock.
 */
typedef errcode_t (*group_enter_piece)(struct ext2mb *mb, const struct group_piece *piece);
typedef void (*group_change_piece)(struct ext2mb *mb, const struct group_piece *piece);
MUST_CHECK errcode_t group_change_range(struct ext2mb *mb, uint64_t position, uint64_t count, group_enter_piece enter,
                                        group_change_piece change);
