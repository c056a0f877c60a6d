/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where our own policy looks for what a large file needs, one place after the other. */
#pragma once

#include "allocator/preallocation/file_need.h"

/* By the first attempt that succeeds, of those that the policy has rules for (RULE_*). As large_search.h's. */
MUST_CHECK errcode_t large_attempts_try(const struct file_need *need, struct preallocation *found);

/* --- The kernel's attempts, which are among ours. EXT2MB_ET_NO_SPACE has taken nothing; ENOMEM. */

/* Allocates the free blocks from a position on, up to a count; flags are EXT2MB_ALLOC_*. */
MUST_CHECK errcode_t large_alloc_at(const struct file_need *need, uint64_t position, uint64_t blocks, uint32_t flags,
                                    struct preallocation *found);

/* The normalised goal's wish: after the left neighbour, or before the right one. */
MUST_CHECK errcode_t large_alloc_at_neighbour(const struct file_need *need, struct preallocation *found);

/* By the criteria, from the stream's goal on. */
MUST_CHECK errcode_t large_alloc_anywhere(const struct file_need *need, struct preallocation *found);
