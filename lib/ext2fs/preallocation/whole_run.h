/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that a short run does not serve (EXT2MB_ALLOC_WHOLE, least_blocks), and when they are refused. */
#pragma once

#include <stdint.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/preallocation/reclaim.h"

/*
 * Calls attempt until it finds a run of so many clusters (at most a group), or there is none even if all preallocations
 * were given back: EXT2MB_ET_NO_SPACE. Where one would be, the preallocations that lie in it are given back, and no
 * others. No owner's lock may be held. attempt's errors; ENOMEM.
 */
MUST_CHECK errcode_t whole_run_insist(struct ext2mb_worker *worker, reclaim_attempt attempt, void *context,
                                      uint32_t clusters);
