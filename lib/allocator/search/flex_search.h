/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The search that prefers a near run to a long one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"

struct flex_search_request {
	uint64_t position; /* where to begin */
	uint32_t count;    /* clusters wanted */
	uint32_t least;    /* the shortest run that is accepted */
	bool goes_on;      /* search only after the position, in as many groups as a flex group has by default */
	bool in_group;     /* search only the position's group, and wait for it */
};

/*
 * Allocates a preallocation from the first run in the position's flex group that is long enough, searching after the
 * position and then before it. Skips busy groups, since nearness is only a preference; with in_group it waits for the
 * one group. EXT2MB_ET_NO_SPACE.
 */
MUST_CHECK errcode_t flex_search_alloc(struct ext2mb_worker *worker, const struct flex_search_request *request,
                                       uint64_t *position, uint32_t *taken);
