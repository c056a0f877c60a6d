/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preallocations are reclaimed when free space runs out, so that nothing is refused while any is left.
 *
 * A refusal is proved. A search that waited for every group found nothing; then the preallocations of all owners were
 * looked for, waiting for every owner, and there were none; and from the beginning of that to its end nothing was on
 * its way from one place to another: no move (preallocation.h) had begun that had not ended.
 */
#pragma once

#include "allocator/search/scan.h"

/*
 * scan_alloc() until it finds something, or there is nothing though all preallocations have been given back:
 * EXT2MB_ET_NO_SPACE. No owner's lock may be held. ENOMEM.
 */
MUST_CHECK errcode_t reclaim_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *position,
                                   uint32_t *taken);

/*
 * The same for requests that a short run does not serve (EXT2MB_ALLOC_WHOLE, least_blocks): until it finds a run of
 * `least` clusters (at most a group), or there is none even if all preallocations were given back. Where one would be,
 * the preallocations that lie in it are given back, and no others.
 */
MUST_CHECK errcode_t reclaim_alloc_whole(struct ext2mb_worker *worker, const struct scan_request *request,
                                         uint64_t *position, uint32_t *taken);
