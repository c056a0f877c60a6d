/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Free space that is longer than a group: where several groups on end are free as a whole. Buddies end with their
 * groups, so no index by order knows of it; what is known of it here comes from the groups' summaries alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"

#define EMPTY_GROUPS_MOST 8192u /* that one search looks at: 1 TiB with blocks of 4 KiB */

struct empty_groups_request {
	uint32_t from;           /* the group to begin with */
	uint64_t clusters;       /* that are needed in all */
	uint32_t extent_blocks;  /* of the longest extent that the file can have there */
	bool begins_with_stripe; /* a stripe's beginning in the file is to lie at one on disk, if there are stripes */
};

/*
 * Where the run begins that suits best: groups that are free as a whole, and what is free directly before them. The
 * shortest that holds all that is needed; else of the longest ones that which gives most blocks for an extent. False
 * if no group is free as a whole. A hint: others may be faster. Waits for one group's lock. Any thread.
 */
bool empty_groups_find(struct ext2mb *mb, const struct empty_groups_request *request, uint64_t *position);

/* The first group from `from` on, among EMPTY_GROUPS_MOST, that is free as a whole. A hint. Any thread. */
bool empty_groups_first(const struct ext2mb *mb, uint32_t from, uint64_t *position);
