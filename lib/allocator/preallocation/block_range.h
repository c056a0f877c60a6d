/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Examines and allocates blocks that the caller names, for callers that know better than a search. */
#pragma once

#include "allocator/core/allocator.h"

/*
 * Tells the use of the cluster at position, and how many clusters from there on, up to count, have the same use. Waits
 * for groups. EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
MUST_CHECK errcode_t block_range_use(struct ext2mb *mb, uint64_t position, uint64_t count, enum ext2mb_block_use *use,
                                     uint64_t *alike);

/*
 * Allocates the whole range, across any number of groups, or nothing. EXT2MB_ET_NO_SPACE: a cluster of it is in use.
 * Discards preallocations that lie in it. The caller must not hold any owner's lock. EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
MUST_CHECK errcode_t block_range_alloc(struct ext2mb_worker *worker, uint64_t position, uint64_t count);
