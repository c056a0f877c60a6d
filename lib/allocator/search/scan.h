/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The search for free space: the goal, then five criteria, best first, as in the kernel's mballoc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"
#include "allocator/search/group_search.h"

/* In clusters; goal and limit are positions. */
struct scan_request {
	uint64_t goal;
	bool has_goal; /* if not, the goal is only where the search begins */
	uint64_t count;
	uint32_t least; /* the fewest clusters accepted; 0: any (EXT2MB_ALLOC_WHOLE: count) */
	uint64_t asked; /* the part of count that is really needed: lengths are not trimmed below it; 0: all */
	uint64_t stream;
	uint32_t flags;  /* EXT2MB_ALLOC_* */
	uint64_t limit;  /* for EXT2MB_ALLOC_PACK: the first position after the allowed range */
	bool reserves;   /* the clusters are for a preallocation */
	bool falls_back; /* if no trimmed length fits, `asked` clusters are enough: the kernel's small files */
	bool as_kernel;  /* one of the kernel's normalizations: search as the kernel does */
};

/* ext2mb's own sweep through the index, and the table of its own operations. */
MUST_CHECK errcode_t scan_sweep(struct free_search *search);
extern const struct search_operations scan_operations;

/* Allocates up to count clusters in one run. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t scan_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start,
                                uint32_t *taken);
