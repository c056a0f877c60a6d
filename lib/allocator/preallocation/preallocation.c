/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/preallocation.h"

#include "allocator/core/arithmetic.h"
#include "allocator/group/group_index.h"
#include "allocator/group/totals.h"
#include "allocator/search/empty_groups.h"

#define HINT_SHARE 64 /* hints are renewed when a worker has reserved one part in so many of what was free */

/* The kernel's mb_stream_req and mb_group_prealloc. */
#define SMALL_FILE_BLOCKS 16u
#define GROUP_BLOCKS 512u
#define GROUP_LEAST 32u /* clusters */

static uint32_t group_clusters(const struct ext2mb *mb, uint32_t asked_blocks)
{
	uint64_t clusters = geometry_to_clusters(&mb->geometry, asked_blocks ? asked_blocks : GROUP_BLOCKS);
	uint64_t stripe = mb->stripe.clusters;

	clusters = max_u64(clusters, GROUP_LEAST);
	if (stripe)
		clusters = (clusters + stripe - 1) / stripe * stripe;
	return (uint32_t)min_u64(clusters, mb->geometry.clusters_per_group);
}

errcode_t preallocation_options_set(struct ext2mb *mb, const struct ext2mb_options *options)
{
	if ((unsigned int)options->normalization > EXT2MB_NORMALIZE_NONE ||
	    (unsigned int)options->locality > EXT2MB_LOCALITY_NONE)
		return EXT2MB_ET_BAD_ARGUMENT;
	*mb->prealloc = (struct preallocation_options){
		.normalization = options->normalization ? options->normalization : mb->policy.normalization,
		.locality = options->locality ? options->locality : mb->policy.locality,
		.small_file_blocks = options->small_file_blocks ? options->small_file_blocks : SMALL_FILE_BLOCKS,
		.group_clusters = group_clusters(mb, options->group_preallocation_blocks),
	};
	return 0;
}

void preallocation_open_worker(struct ext2mb_worker *worker)
{
	struct worker_preallocation *own = worker->preallocation;

	own->hints_are_due = true;
	own->pool.next_clusters = worker->mb->prealloc->group_clusters;
	preallocation_register_add(worker->mb->preallocations, &own->pool.owner, worker->number);
}

void preallocation_close_worker(struct ext2mb_worker *worker)
{
	struct preallocation_owner *owner = &worker->preallocation->pool.owner;

	lock_wait(&owner->lock);
	worker->preallocation->pool.is_closed = true;
	lock_release(&owner->lock);
	preallocation_owner_give_back(owner, worker->mb, &worker->stats, NULL);
	preallocation_register_remove(worker->mb->preallocations, owner);
	preallocation_list_destroy(&owner->list);
}

errcode_t preallocation_alloc(struct ext2mb_worker *worker, const struct scan_request *request,
                              struct preallocation *taken)
{
	struct scan_request scan = *request;

	scan.reserves = true;
	scan.as_kernel = !preallocation_is_ours(worker->mb);
	errcode_t error = scan_alloc(worker, &scan, &taken->position, &taken->count);
	if (!error && taken->count < request->count)
		worker->preallocation->hints_are_due = true;
	return error;
}

void preallocation_renew_hints(struct ext2mb_worker *worker)
{
	struct ext2mb *mb = worker->mb;
	struct worker_preallocation *own = worker->preallocation;
	uint64_t reserved = stats_read(&worker->stats, COUNT_CLUSTERS_RESERVED);
	uint64_t free_clusters = geometry_to_clusters(&mb->geometry, own->hints.free_blocks);

	if (!own->hints_are_due && reserved - own->hints_at <= free_clusters / HINT_SHARE)
		return;
	struct space_totals totals = totals_space(mb);
	own->hints = (struct normalize_hints){
		.free_blocks = geometry_to_blocks(&mb->geometry, totals.free_clusters),
		.open_preallocations = (uint32_t)totals.open_preallocations,
		.largest_order = mb->policy.index->largest_order(mb),
	};
	own->is_roomy = empty_groups_are_most(mb);
	own->hints_at = reserved;
	own->hints_are_due = false;
}
