/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The search for free space: the goal, then five criteria of falling quality, as the kernel's mballoc has them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"
#include "allocator/search/group_search.h"

/* In clusters; goal and limit are positions. */
struct scan_request {
	uint64_t goal;
	bool has_goal; /* else the goal is only where to begin to look */
	uint64_t count;
	uint32_t least; /* and no fewer than these; 0: any (EXT2MB_ALLOC_WHOLE: count) */
	uint64_t asked; /* of these, what is really needed: lengths are not trimmed below; 0: all */
	uint64_t stream;
	uint32_t flags;  /* EXT2MB_ALLOC_* */
	uint64_t limit;  /* of EXT2MB_ALLOC_PACK: the first position that is not to be taken */
	bool reserves;   /* it is for a preallocation, */
	bool falls_back; /* when no trimmed length fits, as much as was asked for is enough: the kernel's small files */
	bool as_kernel;  /* one of the kernel's normalizations, and looked for as the kernel does it */
};

/* Our way through the index: its sweep, and with it all of our operations. */
MUST_CHECK errcode_t scan_sweep(struct free_search *search);
extern const struct search_operations scan_operations;

/* Takes up to count clusters in one run. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t scan_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start,
                                uint32_t *taken);
