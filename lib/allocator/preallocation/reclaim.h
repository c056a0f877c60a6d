/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Discards preallocations when free space runs out, so that no request fails while any are left.
 *
 * EXT2MB_ET_NO_SPACE is proved in three steps. A search that waited for every group found nothing. Then a walk that
 * waited for every owner found no preallocations. And from the start to the end of both, no clusters were in transit:
 * no move (preallocation.h) had begun that had not ended.
 */
#pragma once

#include "allocator/search/scan.h"

/*
 * Repeats scan_alloc() until it finds clusters. EXT2MB_ET_NO_SPACE: it found none although all preallocations were
 * discarded. The caller must not hold any owner's lock. ENOMEM.
 */
MUST_CHECK errcode_t reclaim_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *position,
                                   uint32_t *taken);

/*
 * The same for requests that a short run does not serve (EXT2MB_ALLOC_WHOLE, least_blocks): repeats until it finds a
 * run of `least` clusters (at most a group), or until no discard could make one. It discards only preallocations that
 * lie in such a run.
 */
MUST_CHECK errcode_t reclaim_alloc_whole(struct ext2mb_worker *worker, const struct scan_request *request,
                                         uint64_t *position, uint32_t *taken);
