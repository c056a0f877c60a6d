/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preallocations are reclaimed when free space runs out, so that nothing is refused while any is left.
 *
 * A refusal is proved. A search that waited for every group found nothing; then the preallocations of all owners were
 * looked for, waiting for every owner, and there were none; and from the beginning of that to its end nothing was on
 * its way from one place to another: no move (preallocation.h) had begun that had not ended.
 */
#pragma once

#include <stdint.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/search/scan.h"

typedef errcode_t (*reclaim_attempt)(struct ext2mb_worker *worker, void *context);

/*
 * Calls attempt until it finds something, or there is nothing though all preallocations have been given back:
 * EXT2MB_ET_NO_SPACE. No owner's lock may be held.
 */
MUST_CHECK errcode_t reclaim_insist(struct ext2mb_worker *worker, reclaim_attempt attempt, void *context);

/* The same for scan_take(), for those who get all that is taken. */
MUST_CHECK errcode_t reclaim_take(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *position,
                                  uint32_t *taken);
