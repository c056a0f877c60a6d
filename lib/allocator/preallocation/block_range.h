/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks that the caller names, for those who know better than a search: looking at them and taking them. */
#pragma once

#include "allocator/core/allocator.h"

/*
 * What the cluster at position is used for, and how many from there on, up to count, are used alike. Waits for groups.
 * EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
MUST_CHECK errcode_t block_range_use(struct ext2mb *mb, uint64_t position, uint64_t count, enum ext2mb_block_use *use,
                                     uint64_t *alike);

/*
 * Takes all of the range, whatever the groups that it lies in, or nothing: EXT2MB_ET_NO_SPACE if any of it is in use.
 * Preallocations that lie in it are given back. No owner's lock may be held. EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
MUST_CHECK errcode_t block_range_alloc(struct ext2mb_worker *worker, uint64_t position, uint64_t count);
