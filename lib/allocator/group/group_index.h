/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The index of groups by the order of their largest buddy and by their average fragment. mb_optimize_scan switches it
 * on and off. While it is off, no group is in any set.
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
	/* With the group's lock held: moves the group to the sets that match its summary. */
	void (*update)(struct ext2mb *mb, uint32_t number, const struct group_summary *summary);
	/* is_indexed has changed: moves all groups to the sets that match it. */
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
	/* The set that should contain the group, -1: none; INDEX_ANY_SET: unspecified. While no other thread runs. */
	int (*expected)(const struct ext2mb *mb, uint32_t number, enum index_kind kind,
	                const struct group_summary *summary);
};

static inline bool group_index_is_on(const struct ext2mb *mb)
{
	return atomic_load_explicit(&mb->is_indexed, memory_order_relaxed);
}

/* ext2mb's own index: ordered sets, from which full groups are removed. */
extern const struct index_operations group_index_ordered;

/* Creates empty sets of both kinds. ENOMEM. */
MUST_CHECK errcode_t group_index_create(struct ext2mb *mb);
void group_index_destroy(struct ext2mb *mb);

/* Moves a group from its recorded set to another, -1: none. The group's lock is held. */
void group_index_move(struct order_set *sets, uint32_t number, int8_t *recorded, int order);

/* The first updates every group. The second returns the largest order in any group's summary. */
void group_index_settle(struct ext2mb *mb);
int group_index_largest_of_all(const struct ext2mb *mb);

/* The number of groups in a set now. */
uint32_t group_index_count(const struct ext2mb *mb, enum index_kind kind, unsigned int order);

/* Switches the index on or off. Any thread, while others allocate. */
void group_index_switch(struct ext2mb *mb, bool is_on);
