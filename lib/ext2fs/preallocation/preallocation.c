// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/preallocation.h"

#include "ext2fs/group/group_index.h"
#include "ext2fs/group/totals.h"
#include "ext2fs/preallocation/preallocation_options.h"

#define HINT_SHARE 64 /* hints are renewed when a worker has reserved one part in so many of what was free */

static void count_reserved(struct ext2mb_worker *worker, uint32_t clusters)
{
	/* First as allocated and then as reserved, so that no sum of a reader who runs meanwhile is below zero. */
	stats_add(&worker->stats, COUNT_CLUSTERS_ALLOCATED, clusters);
	stats_add(&worker->stats, COUNT_CLUSTERS_RESERVED, clusters);
}

errcode_t preallocation_take_near(struct ext2mb_worker *worker, const struct flex_search_request *request,
                                  uint64_t *position, uint32_t *taken)
{
	errcode_t error = flex_search_take(worker, request, position, taken);

	if (!error)
		count_reserved(worker, *taken);
	return error;
}

errcode_t preallocation_take(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *position,
                             uint32_t *taken)
{
	struct scan_request scan = *request;

	scan.reserves = true;
	scan.as_kernel = worker->mb->prealloc->normalization != EXT2MB_NORMALIZE_EXT2MB;
	errcode_t error = scan_take(worker, &scan, position, taken);
	if (error)
		return error;
	count_reserved(worker, *taken);
	if (*taken < request->count)
		worker->preallocation->hints_are_due = true;
	return 0;
}

const struct normalize_hints *preallocation_hints(struct ext2mb_worker *worker)
{
	struct ext2mb *mb = worker->mb;
	struct worker_preallocation *own = worker->preallocation;
	uint64_t reserved = stats_read(&worker->stats, COUNT_CLUSTERS_RESERVED);
	uint64_t free_clusters = geometry_to_clusters(&mb->geometry, own->hints.free_blocks);

	if (!own->hints_are_due && reserved - own->hints_at <= free_clusters / HINT_SHARE)
		return &own->hints;
	struct space_totals totals = totals_space(mb);
	own->hints = (struct normalize_hints){
		.free_blocks = geometry_to_blocks(&mb->geometry, totals.free_clusters),
		.open_windows = (uint32_t)totals.open_windows,
		.largest_order = mb->policy.index->largest_order(mb),
	};
	own->hints_at = reserved;
	own->hints_are_due = false;
	return &own->hints;
}
