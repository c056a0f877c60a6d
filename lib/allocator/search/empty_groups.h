/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds free space longer than a group: consecutive groups that are entirely free. Buddies end at the group's end, so
 * no index by order shows such space; this search reads only the groups' summaries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"

#define EMPTY_GROUPS_MOST 8192u /* groups that one search examines: 1 TiB with 4 KiB blocks */

struct empty_groups_request {
	uint32_t from;           /* the group to begin with */
	uint64_t clusters;       /* clusters needed in total */
	uint32_t extent_blocks;  /* length of the longest extent that the file can have */
	bool begins_with_stripe; /* align the file's stripes with those on disk, if there are stripes */
};

/*
 * Finds the start of the best run: groups that are entirely free, and the free clusters directly before them. The best
 * is the shortest run that holds all clusters needed; else, among the longest, the one with the most blocks per extent.
 * False: no group is entirely free. A hint: other threads may allocate there first. Waits for one group's lock. Any
 * thread.
 */
bool empty_groups_find(struct ext2mb *mb, const struct empty_groups_request *request, uint64_t *position);

/* Whether most groups are nearly free, by 64 of them. A hint. Any thread. */
bool empty_groups_are_most(const struct ext2mb *mb);

/* Finds the first entirely free group among EMPTY_GROUPS_MOST groups from `from` on. A hint. Any thread. */
bool empty_groups_first(const struct ext2mb *mb, uint32_t from, uint64_t *position);
