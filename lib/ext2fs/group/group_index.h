/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The groups by the order of their largest buddy and by their average fragment, in whatever way the policy keeps
 * them, and mb_optimize_scan, which switches the index on and off. While it is off, no group is in any set.
 *
 * The default's own way is in group.c and scan.c and does not come here: this is for all the others.
 */
#ifndef EXT2FS_GROUP_INDEX_H
#define EXT2FS_GROUP_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/allocator.h"

enum index_kind {
	INDEX_LARGEST,
	INDEX_AVERAGE,
	INDEX_KINDS,
};

/* Empty sets of both kinds; the policy must be set. ENOMEM. */
MUST_CHECK errcode_t group_index_create(struct ext2mb *mb);
void group_index_destroy(struct ext2mb *mb);

/* With the group's lock held: moves it to where the policy wants it now. */
void group_index_update(struct ext2mb *mb, uint32_t number, const struct group_summary *summary);

/*
 * The first member of a set behind `after` (ORDER_SET_NONE: from the beginning) in [from, end), ORDER_SET_NONE if
 * there is none. Any thread; a hint.
 */
uint32_t group_index_next(struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t after, uint32_t from,
                          uint32_t end);

/* The first order from `order` on whose set has members; mb->orders: there is none. Any thread; a hint. */
unsigned int group_index_next_order(const struct ext2mb *mb, enum index_kind kind, unsigned int order);

bool group_index_has(const struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t number);

/* The set where the group ought to be recorded, -1: in none. While no other thread runs. */
int group_index_expected(const struct ext2mb *mb, uint32_t number, enum index_kind kind,
                         const struct group_summary *summary);

/* Groups in a set now. */
uint32_t group_index_count(struct ext2mb *mb, enum index_kind kind, unsigned int order);

/* Switches it; any one thread, others may go on. */
void group_index_switch(struct ext2mb *mb, bool is_on);

#endif
