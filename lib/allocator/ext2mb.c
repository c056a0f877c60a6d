/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions: arguments are checked and blocks become clusters here. */
#include "ext2fs/ext2mb.h"

#include "allocator/allocator.h"
#include "allocator/check/check.h"
#include "ext2fs/messages.h"
#include "ext2fs/sized_struct.h"
#include "allocator/core/worker_use.h"
#include "allocator/free/commit.h"
#include "allocator/free/free.h"
#include "allocator/free/sync.h"
#include "allocator/fs/fs_state.h"
#include "allocator/group/group_index.h"
#include "allocator/group/totals.h"
#include "allocator/group/inode_group.h"
#include "allocator/inode/inode_alloc.h"
#include "allocator/preallocation/block_range.h"
#include "allocator/preallocation/preallocation_register.h"
#include "allocator/preallocation/reclaim.h"
#include "allocator/search/first_fit.h"
#include "allocator/search/search_memory.h"
#include "transaction/freed.h"

#define ALLOC_FLAGS (EXT2MB_ALLOC_GOAL_ONLY | EXT2MB_ALLOC_STREAM | EXT2MB_ALLOC_PACK | EXT2MB_ALLOC_WHOLE)
#define INODE_FLAGS (EXT2MB_INODE_DIRECTORY | EXT2MB_INODE_PACK)

SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_options, group_preallocation_blocks);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_request, least_blocks);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_stats, least_refusals);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_criterion_stats, failures);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_inode_request, flags);

errcode_t ext2mb_open(ext2_filsys fs, const struct ext2mb_options *options, struct ext2mb **ret)
{
	const struct ext2mb_options *ours = NULL;
	struct ext2mb_options copy;
	errcode_t error;

	messages_register();
	if (!fs || !ret)
		return EXT2MB_ET_BAD_ARGUMENT;
	if (options) {
		ours = sized_struct_read(options, &copy, sizeof(copy),
		                         SIZED_STRUCT_LEAST(struct ext2mb_options, group_preallocation_blocks), &error);
		if (!ours)
			return error;
	}
	return allocator_open(fs, ours, &allocator_policy, ret);
}

/* The position of the cluster that block lies in. */
static uint64_t position_of(const struct geometry *geometry, uint64_t block)
{
	return block > geometry->first_block ? geometry_position(geometry, block) : 0;
}

/* The position of the first cluster that begins at or after block. */
static uint64_t position_after(const struct geometry *geometry, uint64_t block)
{
	uint64_t round_up = geometry_cluster_blocks(geometry) - 1;

	return block >= geometry->end_block ? geometry->clusters : position_of(geometry, block + round_up);
}

/* The request in clusters. */
static errcode_t read_request(const struct geometry *geometry, const struct ext2mb_request *request,
                              struct scan_request *scan)
{
	uint64_t least_blocks = request->flags & EXT2MB_ALLOC_WHOLE ? request->count : request->least_blocks;

	if (request->flags & ~(uint64_t)ALLOC_FLAGS ||
	    (request->flags & EXT2MB_ALLOC_PACK && request->flags != EXT2MB_ALLOC_PACK) ||
	    !geometry_to_clusters(geometry, request->count) || request->least_blocks > request->count ||
	    !geometry_is_whole_clusters(geometry, request->count | request->least_blocks) ||
	    geometry_to_clusters(geometry, least_blocks) > geometry->clusters_per_group)
		return EXT2MB_ET_BAD_ARGUMENT;
	*scan = (struct scan_request){
		.count = geometry_to_clusters(geometry, request->count),
		.least = (uint32_t)geometry_to_clusters(geometry, least_blocks),
		.stream = request->stream,
		.flags = (uint32_t)request->flags,
		.limit = geometry->clusters,
	};
	if (request->flags & EXT2MB_ALLOC_PACK) {
		scan->goal = position_after(geometry, request->goal);
		if (request->limit && request->limit < geometry->end_block)
			scan->limit = position_of(geometry, request->limit);
	} else if (request->goal < geometry->end_block) {
		scan->goal = position_of(geometry, request->goal);
		scan->has_goal = request->goal > geometry->first_block &&
		                 geometry_is_whole_clusters(geometry, request->goal - geometry->first_block);
	}
	return 0;
}

static errcode_t alloc_request(struct ext2mb_worker *worker, const struct scan_request *scan, uint64_t *start,
                               uint32_t *taken)
{
	errcode_t error;

	if (scan->flags & EXT2MB_ALLOC_GOAL_ONLY)
		error = scan_alloc(worker, scan, start, taken);
	else if (scan->least && !(scan->flags & EXT2MB_ALLOC_PACK))
		error = reclaim_alloc_whole(worker, scan, start, taken);
	else
		error = reclaim_alloc(worker, scan, start, taken);
	if (scan->least > 1) {
		stats_add(&worker->stats, COUNT_LEAST_REQUESTS, 1);
		stats_add(&worker->stats, COUNT_LEAST_REFUSALS, error == EXT2MB_ET_NO_SPACE);
	}
	return error;
}

/* Allocates exactly one extent; blocks that the program has marked there are not handed out. */
static errcode_t alloc_extent(struct ext2mb_worker *worker, const struct scan_request *scan,
                              struct ext2mb_extent *extent)
{
	const struct geometry *geometry = &worker->mb->geometry;
	uint64_t start;
	uint32_t taken;
	errcode_t error = alloc_request(worker, scan, &start, &taken);

	if (error)
		return error;
	worker->search->last =
		(struct hand_out){ start, taken, atomic_load_explicit(&worker->mb->tid, memory_order_relaxed) };
	*extent = (struct ext2mb_extent){
		.start = geometry_block_at(geometry, start),
		.count = geometry_to_blocks(geometry, taken),
	};
	return 0;
}

errcode_t ext2mb_alloc(struct ext2mb_worker *worker, const struct ext2mb_request *request, struct ext2mb_extent *extent)
{
	SCOPE_WORKER_USE(use, worker);
	struct ext2mb_request copy;
	struct scan_request scan;
	errcode_t error;

	if (use.error || !request || !extent)
		return use.error ? use.error : EXT2MB_ET_BAD_ARGUMENT;
	const struct ext2mb_request *ours = sized_struct_read(request, &copy, sizeof(copy),
	                                                      SIZED_STRUCT_LEAST(struct ext2mb_request, flags), &error);
	if (!ours)
		return error;
	error = read_request(&worker->mb->geometry, ours, &scan);
	if (error)
		return error;
	stats_add(&worker->stats, COUNT_REQUESTS, 1);
	do {
		error = alloc_extent(worker, &scan, extent);
		if (error)
			return error;
	} while (worker->has_none_marked && !worker->has_none_marked(worker, extent));
	stats_add(&worker->stats, COUNT_SUCCESSES, 1);
	return 0;
}

static bool is_range(const struct geometry *geometry, uint64_t start, uint64_t count)
{
	return count && start >= geometry->first_block && start < geometry->end_block &&
	       count <= geometry->end_block - start &&
	       geometry_is_whole_clusters(geometry, (start - geometry->first_block) | count);
}

errcode_t ext2mb_free(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	SCOPE_WORKER_USE(use, worker);
	if (use.error)
		return use.error;
	struct ext2mb *mb = worker->mb;
	const struct geometry *geometry = &mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	if (fs_state_is_metadata(mb->fs_state, start, count))
		return EXT2MB_ET_METADATA_FREE;
	errcode_t error = free_clusters(worker, position_of(geometry, start), geometry_to_clusters(geometry, count));

	if (!error)
		freed_note(mb->fs_state->fs, start, count, mb->fs_state->follows_map ? 0 : count);
	return error;
}

errcode_t ext2mb_give_back(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	SCOPE_WORKER_USE(use, worker);
	if (use.error)
		return use.error;
	const struct geometry *geometry = &worker->mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	return free_at_once(worker, position_of(geometry, start), geometry_to_clusters(geometry, count));
}

errcode_t ext2mb_mark_used(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	SCOPE_WORKER_USE(use, worker);
	if (use.error)
		return use.error;
	const struct geometry *geometry = &worker->mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	return block_range_alloc(worker, position_of(geometry, start), geometry_to_clusters(geometry, count));
}

errcode_t ext2mb_query_blocks(struct ext2mb *mb, uint64_t start, uint64_t count, enum ext2mb_block_use *use,
                              uint64_t *alike)
{
	if (!mb || !use || !alike)
		return EXT2MB_ET_BAD_ARGUMENT;
	const struct geometry *geometry = &mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	errcode_t error =
		block_range_use(mb, position_of(geometry, start), geometry_to_clusters(geometry, count), use, alike);
	*alike = geometry_to_blocks(geometry, *alike);
	return error;
}

uint64_t ext2mb_discard_preallocations(struct ext2mb_worker *worker)
{
	SCOPE_WORKER_USE(use, worker);
	if (use.error)
		return 0;
	struct ext2mb *mb = worker->mb;

	return geometry_to_blocks(&mb->geometry, preallocation_register_give_back(mb, &worker->stats, NULL));
}

errcode_t ext2mb_commit(struct ext2mb *mb)
{
	return mb ? commit_frees(mb) : EXT2MB_ET_BAD_ARGUMENT;
}

errcode_t ext2mb_sync(struct ext2mb *mb)
{
	if (!mb)
		return EXT2MB_ET_BAD_ARGUMENT;
	if (mb->fs_state->follows_map)
		return EXT2MB_ET_ATTACHED;
	return sync_all(mb);
}

errcode_t ext2mb_check(struct ext2mb *mb, char *why, size_t why_bytes)
{
	if (!mb || (!why && why_bytes))
		return EXT2MB_ET_BAD_ARGUMENT;
	errcode_t error = commit_refuse_in_discard(mb);

	return error ? error : check_everything(mb, why, why_bytes);
}

uint64_t ext2mb_free_blocks(struct ext2mb *mb)
{
	return mb ? geometry_to_blocks(&mb->geometry, totals_space(mb).free_clusters) : 0;
}

uint64_t ext2mb_reserved_blocks(struct ext2mb *mb)
{
	return mb ? geometry_to_blocks(&mb->geometry, totals_space(mb).reserved_clusters) : 0;
}

uint64_t ext2mb_free_inodes(struct ext2mb *mb)
{
	return mb ? totals_space(mb).free_inodes : 0;
}

errcode_t ext2mb_read_stats(struct ext2mb *mb, struct ext2mb_stats *stats)
{
	if (!mb || !stats)
		return EXT2MB_ET_BAD_ARGUMENT;
	const struct geometry *geometry = &mb->geometry;
	errcode_t error =
		sized_struct_is_writable(stats, SIZED_STRUCT_LEAST(struct ext2mb_stats, preallocation_discards));
	uint64_t sums[COUNTERS];

	if (error)
		return error;
	totals_sum(mb, 0, COUNTERS, sums);
	const struct ext2mb_stats ours = {
		.requests = sums[COUNT_REQUESTS] + sums[COUNT_PREALLOCATION_HITS],
		.successes = sums[COUNT_SUCCESSES] + sums[COUNT_PREALLOCATION_HITS],
		.blocks_allocated =
			geometry_to_blocks(geometry, sums[COUNT_CLUSTERS_ALLOCATED] + sums[COUNT_CLUSTERS_SERVED] -
		                                             sums[COUNT_CLUSTERS_RESERVED]),
		.frees = sums[COUNT_FREES],
		.blocks_freed = geometry_to_blocks(geometry, sums[COUNT_CLUSTERS_FREED]),
		.goal_hits = sums[COUNT_GOAL_HITS],
		.stream_goal_hits = sums[COUNT_STREAM_GOAL_HITS],
		.length_hits = sums[COUNT_LENGTH_HITS],
		.packed = sums[COUNT_PACKED],
		.extents_scanned = sums[COUNT_EXTENTS_SCANNED],
		.groups_scanned = sums[COUNT_GROUPS_SCANNED],
		.busy_skips = sums[COUNT_BUSY_SKIPS],
		.busy_waits = sums[COUNT_BUSY_WAITS],
		.lost_chunks = sums[COUNT_LOST_CHUNKS],
		.breaks = sums[COUNT_BREAKS],
		.repeated_sweeps = sums[COUNT_REPEATED_SWEEPS],
		.inodes_allocated = sums[COUNT_INODES_ALLOCATED],
		.inodes_freed = sums[COUNT_INODES_FREED],
		.corrupt_groups = atomic_load_explicit(&mb->corrupt_groups, memory_order_relaxed),
		.preallocation_hits = sums[COUNT_PREALLOCATION_HITS],
		.preallocations_opened = sums[COUNT_PREALLOCATIONS_OPENED],
		.preallocation_discards = sums[COUNT_PREALLOCATION_DISCARDS],
		.least_requests = sums[COUNT_LEAST_REQUESTS],
		.least_refusals = sums[COUNT_LEAST_REFUSALS],
	};
	sized_struct_write(stats, &ours, sizeof(ours));
	return 0;
}

errcode_t ext2mb_read_criterion_stats(struct ext2mb *mb, unsigned int index, struct ext2mb_criterion_stats *stats)
{
	static const char *const names[] = { "power of two", "goal length fast", "best available", "goal length slow",
		                             "any free" };
	_Static_assert(sizeof(names) / sizeof(*names) == CRITERIA, "each criterion has a name");
	errcode_t error = EXT2MB_ET_BAD_ARGUMENT;

	if (mb && stats)
		error = sized_struct_is_writable(stats, SIZED_STRUCT_LEAST(struct ext2mb_criterion_stats, failures));
	if (error)
		return error;
	if (index >= CRITERIA)
		return EXT2MB_ET_BAD_RANGE;
	const struct ext2mb_criterion_stats ours = {
		.name = names[index],
		.hits = totals_count(mb, COUNT_CRITERION_HITS + index),
		.extents = totals_count(mb, COUNT_CRITERION_EXTENTS + index),
		.groups = totals_count(mb, COUNT_CRITERION_GROUPS + index),
		.failures = totals_count(mb, COUNT_CRITERION_FAILURES + index),
	};
	sized_struct_write(stats, &ours, sizeof(ours));
	return 0;
}

uint32_t ext2mb_library_version(const char **string)
{
	if (string)
		*string = EXT2MB_VERSION_STRING;
	return EXT2MB_VERSION;
}

void ext2mb_set_optimize_scan(struct ext2mb *mb, int is_on)
{
	if (mb)
		group_index_switch(mb, is_on);
}

errcode_t ext2mb_next_free(struct ext2mb *mb, uint64_t from, struct ext2mb_extent *extent)
{
	if (!mb || !extent)
		return EXT2MB_ET_BAD_ARGUMENT;
	const struct geometry *geometry = &mb->geometry;
	uint64_t start;
	uint32_t count;
	errcode_t error = first_fit_find(mb, position_after(geometry, from), geometry->clusters, &start, &count);

	if (error)
		return error;
	*extent = (struct ext2mb_extent){
		.start = geometry_block_at(geometry, start),
		.count = geometry_to_blocks(geometry, count),
	};
	return 0;
}

errcode_t ext2mb_inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request, ext2_ino_t *ino)
{
	SCOPE_WORKER_USE(use, worker);
	struct ext2mb_inode_request copy;
	errcode_t error;

	if (use.error || !request || !ino)
		return use.error ? use.error : EXT2MB_ET_BAD_ARGUMENT;
	const struct ext2mb_inode_request *ours = sized_struct_read(
		request, &copy, sizeof(copy), SIZED_STRUCT_LEAST(struct ext2mb_inode_request, flags), &error);

	if (!ours)
		return error;
	if (ours->flags & ~(uint64_t)INODE_FLAGS)
		return EXT2MB_ET_BAD_ARGUMENT;
	return inode_alloc(worker, ours, ino);
}

errcode_t ext2mb_query_inode(struct ext2mb *mb, ext2_ino_t ino, int *is_in_use)
{
	uint32_t group, index;

	if (!mb || !is_in_use)
		return EXT2MB_ET_BAD_ARGUMENT;
	errcode_t error = inode_group_enter(mb, ino, &group, &index);

	*is_in_use = !error;
	if (!error)
		lock_release(&mb->groups[group].inodes.lock);
	return error == EXT2MB_ET_DOUBLE_FREE ? 0 : error;
}

errcode_t ext2mb_inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, int is_directory)
{
	SCOPE_WORKER_USE(use, worker);

	return use.error ? use.error : inode_free(worker, ino, is_directory);
}
