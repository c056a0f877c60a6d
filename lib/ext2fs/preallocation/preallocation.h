/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clusters that are taken from the groups as preallocations (PA), and how they are counted.
 *
 * What is on its way from one place to another is a move: a commit, a preallocation that is given back, what is handed
 * from a locality group to a file or back. Moves are counted when they begin and when they have ended, so that
 * reclaim.h can prove a refusal. A new preallocation is no move, as it is made with its owner's lock held all the time.
 */
#pragma once

#include <stdint.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/preallocation/worker_preallocation.h"
#include "ext2fs/search/flex_search.h"
#include "ext2fs/search/scan.h"

/* Takes clusters to be a preallocation, or a part of it, with the lock of its owner held. As scan_take(). */
MUST_CHECK errcode_t preallocation_take(struct ext2mb_worker *worker, const struct scan_request *request,
                                        uint64_t *position, uint32_t *taken);

/* The same for flex_search_take(). */
MUST_CHECK errcode_t preallocation_take_near(struct ext2mb_worker *worker, const struct flex_search_request *request,
                                             uint64_t *position, uint32_t *taken);

/* Counts preallocated clusters as handed out. */
static inline void preallocation_serve(struct ext2mb_worker *worker, uint64_t clusters)
{
	stats_add(&worker->stats, COUNT_CLUSTERS_SERVED, clusters);
}

/* The state of the filesystem, as of some time ago. The worker's own. */
const struct normalize_hints *preallocation_hints(struct ext2mb_worker *worker);
