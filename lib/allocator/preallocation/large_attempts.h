/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The places that our own policy tries for a large file, in order. */
#pragma once

#include "allocator/preallocation/file_need.h"

/* Makes the attempts whose rules (RULE_*) the policy has, until one succeeds. Errors: large_search.h's. */
MUST_CHECK errcode_t large_attempts_try(const struct file_need *need, struct preallocation *found);

/* --- The kernel's attempts, which are among ours. EXT2MB_ET_NO_SPACE: nothing was allocated; ENOMEM. */

/* Allocates the free blocks from a position on, up to a count; flags are EXT2MB_ALLOC_*. */
MUST_CHECK errcode_t large_alloc_at(const struct file_need *need, uint64_t position, uint64_t blocks, uint32_t flags,
                                    struct preallocation *found);

/* Tries the physical goal of the normalised range: after the left neighbour, or before the right one. */
MUST_CHECK errcode_t large_alloc_at_neighbour(const struct file_need *need, struct preallocation *found);

/* Searches by the criteria, starting at the stream's goal. */
MUST_CHECK errcode_t large_alloc_anywhere(const struct file_need *need, struct preallocation *found);
