/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One block group: its buddy under its own lock (the truth) and a summary that anyone may read (a hint).
 *
 * The lock protects everything from `lock` on, but for the bits of group_reserved.h. The summary is published before
 * the lock is released. Its line is not the lock's, so that a look at it does not disturb those who hold or wait for
 * the lock.
 */
#ifndef EXT2FS_GROUP_H
#define EXT2FS_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/buddy.h"
#include "ext2fs/core/lock.h"
#include "ext2fs/group/pending_free.h"

enum group_state {
	GROUP_UNTOUCHED, /* known from the descriptor only */
	GROUP_LOADED,
	GROUP_CORRUPT,   /* its descriptor, bitmap and the rest disagree: left out */
};

/* The inodes, under a lock of their own. The counts are changed under it and read without. */
struct inode_group {
	struct lock lock;
	_Atomic uint32_t free_inodes;
	_Atomic uint32_t directories;
	uint32_t first_free;    /* no inode before it is free */
	uint32_t unused_inodes; /* at the end of the table, never used */
	uint8_t state;          /* enum group_state */
	bool is_dirty;
	uint64_t *bitmap;       /* once loaded */
};

struct group {
	/* Released and acquired, so that who finds a group full also sees who made it so (see reserve.h). */
	_Alignas(64) _Atomic uint64_t summary;
	struct inode_group inodes;
	_Atomic bool is_counted_corrupt;
	_Atomic uint32_t longest; /* clusters: no run has more. A hint, from the buddy's */

	_Alignas(64) struct lock lock;
	uint8_t state;      /* enum group_state */
	bool is_dirty;      /* differs from the disk */
	int8_t largest_set; /* the set of this kind that the group is in, -1: none; changed only with the set */
	int8_t average_set;
	struct buddy *buddy; /* once loaded */
	struct pending_free pending;
	_Atomic uint64_t *_Atomic reserved; /* group_reserved.h; NULL: no window ever lay here */
};

/* What a summary says; of an untouched group: at best. */
struct group_summary {
	uint32_t free_clusters;
	uint32_t fragments;
	int largest_order; /* -1: full */
	int average_order; /* set of its average fragment: [2^(k+1), 2^(k+2)) clusters, 0: [1, 4); -1: full */
	enum group_state state;
};

/* fls(free / fragments) - 2, within the orders; -1 for a full group. */
int group_average_order(uint32_t free_clusters, uint32_t fragments, uint32_t orders);

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

static inline struct group_summary group_summary_read(const struct group *group)
{
	uint64_t packed = atomic_load_explicit(&group->summary, memory_order_acquire);
	uint64_t orders = packed >> 2 * SUMMARY_COUNT_BITS;

	return (struct group_summary){
		.free_clusters = (uint32_t)(packed & SUMMARY_COUNT_MASK),
		.fragments = (uint32_t)(packed >> SUMMARY_COUNT_BITS & SUMMARY_COUNT_MASK),
		.largest_order = (int)(orders & SUMMARY_ORDER_MASK) - 1,
		.average_order = (int)(orders >> SUMMARY_ORDER_BITS & SUMMARY_ORDER_MASK) - 1,
		.state = (enum group_state)(orders >> 2 * SUMMARY_ORDER_BITS),
	};
}

/* Whether a run of so many clusters may be free there: it would hold a buddy of more than a quarter of its length. */
static inline bool group_summary_may_have(const struct group_summary *summary, uint32_t clusters)
{
	return summary->free_clusters >= clusters && summary->largest_order >= 0 &&
	       4u << summary->largest_order >= clusters;
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

/* Sets all groups up from their descriptors, without I/O. ENOMEM. */
MUST_CHECK errcode_t group_table_create(struct ext2mb *mb);
void group_table_destroy(struct ext2mb *mb);

/*
 * With the group's lock held: reads and builds its buddy on first touch. EXT2MB_ET_CORRUPT_GROUP, ENOMEM;
 * the lock stays held.
 */
MUST_CHECK errcode_t group_load(struct ext2mb *mb, uint32_t number);

/* Locks and loads; on error the lock is not held. */
MUST_CHECK errcode_t group_enter(struct ext2mb *mb, uint32_t number);

/* Publishes the summary, moves the group to the sets where it belongs now, and releases the lock. */
void group_leave_changed(struct ext2mb *mb, uint32_t number);

/* With the group's lock held: no run has more clusters, as a look at all of them has shown. */
void group_note_longest(struct ext2mb *mb, uint32_t number, uint32_t clusters);

/* Releases the lock of a group that was only looked at. */
void group_leave(struct ext2mb *mb, uint32_t number);

/* Takes free clusters of a group whose lock is held. */
void group_take(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);

#endif
