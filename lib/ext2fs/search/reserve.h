/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clusters that are taken from the groups for windows: how they are counted, and how nothing is refused while any
 * of them is left.
 *
 * A refusal is proved. A search that waited for every group found nothing; then the windows of everybody were
 * looked for, waiting for every owner, and there were none; and from the beginning of that to its end nothing
 * was on its way from one place to another. Such moves are counted, when they begin and when they have ended:
 * commits, windows that are given back, and what is handed from a pool to a file or back. A new window is no
 * move, as it is made with its owner's lock held all the time.
 */
#ifndef EXT2FS_RESERVE_H
#define EXT2FS_RESERVE_H

#include <stdint.h>

#include "ext2fs/allocator.h"
#include "ext2fs/search/near.h"
#include "ext2fs/search/scan.h"

/* Takes clusters to be a window, or a part of it, with the lock of its owner held. As scan_take(). */
MUST_CHECK errcode_t reserve_take(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *position,
                                  uint32_t *taken);

/* The same for near_take(). */
MUST_CHECK errcode_t reserve_take_near(struct ext2mb_worker *worker, const struct near_request *request,
                                       uint64_t *position, uint32_t *taken);

/* Counts clusters that were taken for a window as handed out. */
static inline void reserve_serve(struct ext2mb_worker *worker, uint64_t clusters)
{
	stats_add(&worker->stats, COUNT_CLUSTERS_SERVED, clusters);
}

/* What lies between the two is a move. */
static inline void reserve_move_begin(struct stats *stats)
{
	stats_add(stats, COUNT_MOVES_BEGUN, 1);
}

static inline void reserve_move_end(struct stats *stats)
{
	stats_add(stats, COUNT_MOVES_ENDED, 1);
}

/* Makes a window's clusters free again, within a move and with the lock of its owner held. */
void reserve_give_back(struct ext2mb *mb, struct stats *stats, uint64_t position, uint32_t count);

/*
 * As scan_take(), for those who get all that is taken: when there is nothing, the windows of everybody are given
 * back and it is tried again. No owner's lock may be held.
 */
MUST_CHECK errcode_t reserve_take_under_pressure(struct ext2mb_worker *worker, const struct scan_request *request,
                                                 uint64_t *position, uint32_t *taken);

/* The same for any other way of taking; context is the caller's. */
typedef errcode_t (*reserve_attempt)(struct ext2mb_worker *worker, void *context);
MUST_CHECK errcode_t reserve_insist(struct ext2mb_worker *worker, reserve_attempt attempt, void *context);

/* The state of the filesystem, as of some time ago. The worker's own. */
const struct normalize_hints *reserve_hints(struct ext2mb_worker *worker);

/* In windows now; exact while no thread allocates. */
uint64_t reserve_clusters(struct ext2mb *mb);

#endif
