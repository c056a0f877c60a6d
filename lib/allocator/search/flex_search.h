/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The search for a place that is near rather than long. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"

struct flex_search_request {
	uint64_t position; /* where to begin */
	uint32_t count;    /* clusters wanted */
	uint32_t least;    /* and how many must be had in one run */
	bool goes_on;  /* from the position on, in as many groups as a flex group has by default, and not before it */
	bool in_group; /* not in the other groups of the flex group, but there even if it has to be waited for */
};

/*
 * Takes for a preallocation, from the first run in the position's flex group that is long enough, looking after the
 * position and then before it. Groups that are busy are passed over: it is only a preference. With in_group the one
 * group is waited for. EXT2MB_ET_NO_SPACE.
 */
MUST_CHECK errcode_t flex_search_alloc(struct ext2mb_worker *worker, const struct flex_search_request *request,
                                       uint64_t *position, uint32_t *taken);
