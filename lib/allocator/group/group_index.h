/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The groups by the order of their largest buddy and by their average fragment, and mb_optimize_scan, which switches
 * the index on and off. While it is off, no group is in any set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"
#include "allocator/group/group.h"

struct group_index {
	struct order_set sets[INDEX_KINDS][BUDDY_MAX_ORDERS];
};

#define INDEX_ANY_SET (-2)

struct index_operations {
	/* With the group's lock held: moves it to the sets where it belongs now. */
	void (*update)(struct ext2mb *mb, uint32_t number, const struct group_summary *summary);
	/* is_indexed has changed: brings all groups to where they belong. */
	void (*settle)(struct ext2mb *mb);
	/* Returns the largest order of any group's free buddies, -1: none is free. Any thread; a hint. */
	int (*largest_order)(const struct ext2mb *mb);
	/*
	 * The first member of a set after `after` (ORDER_SET_NONE: from the beginning) in [from, end), ORDER_SET_NONE
	 * if there is none. Any thread; a hint.
	 */
	uint32_t (*next)(struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t after, uint32_t from,
	                 uint32_t end);
	bool (*has)(const struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t number);
	/* The set where the group ought to be, -1: in none; INDEX_ANY_SET: no saying. While no other thread runs. */
	int (*expected)(const struct ext2mb *mb, uint32_t number, enum index_kind kind,
	                const struct group_summary *summary);
};

static inline bool group_index_is_on(const struct ext2mb *mb)
{
	return atomic_load_explicit(&mb->is_indexed, memory_order_relaxed);
}

/* Ours: ordered sets, which full groups leave. */
extern const struct index_operations group_index_ordered;

/* Empty sets of both kinds. ENOMEM. */
MUST_CHECK errcode_t group_index_create(struct ext2mb *mb);
void group_index_destroy(struct ext2mb *mb);

/* Moves a group from the set where it is recorded to another, -1: none. The group's lock is held. */
void group_index_move(struct order_set *sets, uint32_t number, int8_t *recorded, int order);

/* Updates every group; the largest order that any group's summary tells of. */
void group_index_settle(struct ext2mb *mb);
int group_index_largest_of_all(const struct ext2mb *mb);

/* Groups in a set now. */
uint32_t group_index_count(const struct ext2mb *mb, enum index_kind kind, unsigned int order);

/* Switches it; any one thread, others may go on. */
void group_index_switch(struct ext2mb *mb, bool is_on);
