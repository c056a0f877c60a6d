/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions: arguments are checked and blocks become clusters here. */
#include "ext2fs/ext2mb.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/allocator.h"
#include "ext2fs/block_range.h"
#include "ext2fs/check/check.h"
#include "ext2fs/core/sized_struct.h"
#include "ext2fs/free.h"
#include "ext2fs/group/group_index.h"
#include "ext2fs/inode/inode_alloc.h"
#include "ext2fs/search/pack.h"
#include "ext2fs/search/reserve.h"
#include "ext2fs/search/scan.h"
#include "ext2fs/sync.h"
#include "ext2fs/search/whole_run.h"

#define ALLOC_FLAGS (EXT2MB_ALLOC_GOAL_ONLY | EXT2MB_ALLOC_STREAM | EXT2MB_ALLOC_PACK | EXT2MB_ALLOC_WHOLE)
#define INODE_FLAGS (EXT2MB_INODE_DIRECTORY | EXT2MB_INODE_PACK)

SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_request, least_blocks);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_stats, least_refusals);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_criterion_stats, failures);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_inode_request, flags);

static void register_messages(void)
{
	initialize_e2mb_error_table();
}

errcode_t ext2mb_open(ext2_filsys fs, const struct ext2mb_options *options, struct ext2mb **ret)
{
	static pthread_once_t messages_registered = PTHREAD_ONCE_INIT;
	struct ext2mb_options copy;
	errcode_t error = 0;

	pthread_once(&messages_registered, register_messages);
	if (options)
		options = sized_struct_read(options, &copy, sizeof(copy),
		                            SIZED_STRUCT_LEAST(struct ext2mb_options, small_window_blocks), &error);
	if (error)
		return error;
	struct ext2mb *mb = aligned_alloc(_Alignof(struct ext2mb), sizeof(*mb));
	if (!mb)
		return ENOMEM;
	memset(mb, 0, sizeof(*mb));
	error = fs_state_open(&mb->fs_state, fs);
	if (error) {
		free(mb);
		return error;
	}
	error = allocator_create(mb, options);
	if (error) {
		ext2mb_close(mb);
		return error;
	}
	*ret = mb;
	return 0;
}

errcode_t ext2mb_close(struct ext2mb *mb)
{
	errcode_t error = mb ? free_refuse_in_discard(mb) : 0;

	if (!mb || error)
		return error;
	allocator_destroy(mb);
	fs_state_close(&mb->fs_state);
	free(mb);
	return 0;
}

errcode_t ext2mb_worker_open(struct ext2mb *mb, struct ext2mb_worker **ret)
{
	struct ext2mb_worker *worker = aligned_alloc(_Alignof(struct ext2mb_worker), sizeof(*worker));

	if (!worker)
		return ENOMEM;
	memset(worker, 0, sizeof(*worker));
	worker->mb = mb;
	worker->hints_are_due = true;
	worker->pool.window_clusters = mb->prealloc.small_window;
	worker->owner.kind = &small_pool_owner_kind;
	pthread_mutex_lock(&mb->worker_lock);
	worker->number = mb->workers_opened++;
	worker->next = mb->workers;
	mb->workers = worker;
	pthread_mutex_unlock(&mb->worker_lock);
	window_register_add(&mb->windows, &worker->owner, worker->number);
	*ret = worker;
	return 0;
}

void ext2mb_worker_close(struct ext2mb_worker *worker)
{
	if (!worker)
		return;

	struct ext2mb *mb = worker->mb;
	small_pool_discard(&worker->pool, mb, &worker->stats, NULL);
	window_register_remove(&mb->windows, &worker->owner);
	pthread_mutex_lock(&mb->worker_lock);
	struct ext2mb_worker **link = &mb->workers;
	while (*link != worker)
		link = &(*link)->next;
	*link = worker->next;
	stats_merge(&mb->closed_stats, &worker->stats);
	pthread_mutex_unlock(&mb->worker_lock);
	free(worker);
}

/* The position of the cluster that block lies in. */
static uint64_t position_of(const struct geometry *geometry, uint64_t block)
{
	return block > geometry->first_block ? (block - geometry->first_block) >> geometry->cluster_bits : 0;
}

/* The position of the first cluster that begins at or after block. */
static uint64_t position_after(const struct geometry *geometry, uint64_t block)
{
	uint64_t round_up = (UINT64_C(1) << geometry->cluster_bits) - 1;

	return block >= geometry->end_block ? geometry->clusters : position_of(geometry, block + round_up);
}

static bool is_whole_clusters(const struct geometry *geometry, uint64_t blocks)
{
	return !(blocks & ((UINT64_C(1) << geometry->cluster_bits) - 1));
}

struct attempt {
	const struct ext2mb_request *request;
	uint32_t least; /* clusters; 0: any number */
	uint64_t start; /* what was taken: a position and clusters */
	uint32_t taken;
};

static errcode_t attempt_pack(struct ext2mb_worker *worker, void *context)
{
	const struct geometry *geometry = &worker->mb->geometry;
	struct attempt *attempt = context;
	const struct ext2mb_request *request = attempt->request;
	uint64_t limit = request->limit && request->limit < geometry->end_block ?
				 position_of(geometry, request->limit) :
				 geometry->clusters;

	return pack_take(worker, position_after(geometry, request->goal), limit,
	                 attempt->least ? attempt->least : 1, request->count >> geometry->cluster_bits, &attempt->start,
	                 &attempt->taken);
}

static errcode_t attempt_scan(struct ext2mb_worker *worker, void *context)
{
	const struct geometry *geometry = &worker->mb->geometry;
	struct attempt *attempt = context;
	const struct ext2mb_request *request = attempt->request;
	struct scan_request scan = {
		.goal = request->goal >= geometry->end_block ? 0 : position_of(geometry, request->goal),
		.has_goal = request->goal > geometry->first_block && request->goal < geometry->end_block &&
			    is_whole_clusters(geometry, request->goal - geometry->first_block),
		.count = request->count >> geometry->cluster_bits,
		.least = attempt->least,
		.stream = request->stream,
		.flags = (uint32_t)request->flags,
	};

	return scan_take(worker, &scan, &attempt->start, &attempt->taken);
}

/* The request's minimum in *least, in clusters. */
static errcode_t check_request(const struct geometry *geometry, const struct ext2mb_request *request, uint32_t *least)
{
	uint64_t least_blocks = request->flags & EXT2MB_ALLOC_WHOLE ? request->count : request->least_blocks;

	if (request->flags & ~(uint64_t)ALLOC_FLAGS ||
	    (request->flags & EXT2MB_ALLOC_PACK && request->flags != EXT2MB_ALLOC_PACK) ||
	    !(request->count >> geometry->cluster_bits) || request->least_blocks > request->count ||
	    !is_whole_clusters(geometry, request->count | request->least_blocks) ||
	    least_blocks >> geometry->cluster_bits > geometry->clusters_per_group)
		return EXT2MB_ET_BAD_ARGUMENT;
	*least = (uint32_t)(least_blocks >> geometry->cluster_bits);
	return 0;
}

static errcode_t make_attempts(struct ext2mb_worker *worker, struct attempt *attempt)
{
	uint64_t flags = attempt->request->flags;
	errcode_t error;

	if (flags & EXT2MB_ALLOC_GOAL_ONLY)
		error = attempt_scan(worker, attempt);
	else if (flags & EXT2MB_ALLOC_PACK)
		error = reserve_insist(worker, attempt_pack, attempt);
	else if (attempt->least)
		error = whole_run_insist(worker, attempt_scan, attempt, attempt->least);
	else
		error = reserve_insist(worker, attempt_scan, attempt);
	if (attempt->least > 1) {
		stats_add(&worker->stats, COUNT_LEAST_REQUESTS, 1);
		stats_add(&worker->stats, COUNT_LEAST_REFUSALS, error == EXT2MB_ET_NO_SPACE);
	}
	return error;
}

errcode_t ext2mb_alloc(struct ext2mb_worker *worker, const struct ext2mb_request *request, struct ext2mb_extent *extent)
{
	const struct geometry *geometry = &worker->mb->geometry;
	struct ext2mb_request copy;
	struct attempt attempt;
	errcode_t error;

	request = sized_struct_read(request, &copy, sizeof(copy), SIZED_STRUCT_LEAST(struct ext2mb_request, flags),
	                            &error);
	if (!error)
		error = check_request(geometry, request, &attempt.least);
	if (error)
		return error;
	attempt.request = request;
	stats_add(&worker->stats, COUNT_REQUESTS, 1);
	error = make_attempts(worker, &attempt);
	if (error)
		return error;
	stats_add(&worker->stats, COUNT_SUCCESSES, 1);
	stats_add(&worker->stats, COUNT_CLUSTERS_ALLOCATED, attempt.taken);
	worker->last = (struct hand_out){ attempt.start, attempt.taken,
		                          atomic_load_explicit(&worker->mb->epoch, memory_order_relaxed) };
	*extent = (struct ext2mb_extent){
		.start = geometry->first_block + (attempt.start << geometry->cluster_bits),
		.count = (uint64_t)attempt.taken << geometry->cluster_bits,
	};
	return 0;
}

static bool is_range(const struct geometry *geometry, uint64_t start, uint64_t count)
{
	return count && start >= geometry->first_block && start < geometry->end_block &&
	       count <= geometry->end_block - start && is_whole_clusters(geometry, (start - geometry->first_block) | count);
}

errcode_t ext2mb_free(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	struct ext2mb *mb = worker->mb;
	const struct geometry *geometry = &mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	if (fs_state_is_metadata(&mb->fs_state, start, count))
		return EXT2MB_ET_METADATA_FREE;
	return free_clusters(worker, position_of(geometry, start), count >> geometry->cluster_bits);
}

errcode_t ext2mb_give_back(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	const struct geometry *geometry = &worker->mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	return free_at_once(worker, position_of(geometry, start), count >> geometry->cluster_bits);
}

errcode_t ext2mb_mark_used(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	const struct geometry *geometry = &worker->mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	return block_range_take(worker, position_of(geometry, start), count >> geometry->cluster_bits);
}

errcode_t ext2mb_query_blocks(struct ext2mb *mb, uint64_t start, uint64_t count, enum ext2mb_block_use *use,
                              uint64_t *alike)
{
	const struct geometry *geometry = &mb->geometry;

	if (!is_range(geometry, start, count))
		return EXT2MB_ET_BAD_RANGE;
	errcode_t error =
		block_range_use(mb, position_of(geometry, start), count >> geometry->cluster_bits, use, alike);
	*alike <<= geometry->cluster_bits;
	return error;
}

uint64_t ext2mb_discard_preallocations(struct ext2mb_worker *worker)
{
	struct ext2mb *mb = worker->mb;

	return window_register_discard(mb, &worker->stats, NULL) << mb->geometry.cluster_bits;
}

errcode_t ext2mb_commit(struct ext2mb *mb)
{
	return free_commit(mb);
}

errcode_t ext2mb_sync(struct ext2mb *mb)
{
	errcode_t discard_error = free_commit(mb);

	if (discard_error == EXT2MB_ET_IN_DISCARD)
		return discard_error;
	/* Afterwards, for the discard function may have allocated. */
	window_register_discard(mb, &mb->closed_stats, NULL);
	errcode_t error = sync_groups(mb);

	return error ? error : discard_error;
}

errcode_t ext2mb_check(struct ext2mb *mb, char *why, size_t why_bytes)
{
	errcode_t error = free_refuse_in_discard(mb);

	return error ? error : check_everything(mb, why, why_bytes);
}

/* Clusters that have become free since the allocator was opened. */
static uint64_t clusters_gained(struct ext2mb *mb)
{
	return mb->clusters_released + allocator_sum(mb, COUNT_CLUSTERS_UNRESERVED);
}

#define FREE_BLOCKS_ATTEMPTS 4

/*
 * What was taken is read first, so that the difference cannot be below zero. It is too much by what became free
 * meanwhile: if that is nothing, it is right, and else it is read again, but not for ever.
 */
uint64_t ext2mb_free_blocks(struct ext2mb *mb)
{
	uint64_t before, taken, gained = clusters_gained(mb);
	unsigned int attempt = 0;

	do {
		before = gained;
		taken = allocator_sum(mb, COUNT_CLUSTERS_ALLOCATED);
		gained = clusters_gained(mb);
	} while (gained != before && ++attempt < FREE_BLOCKS_ATTEMPTS);
	return (mb->clusters_at_open + gained - taken) << mb->geometry.cluster_bits;
}

uint64_t ext2mb_reserved_blocks(struct ext2mb *mb)
{
	return reserve_clusters(mb) << mb->geometry.cluster_bits;
}

uint64_t ext2mb_free_inodes(struct ext2mb *mb)
{
	return mb->inodes_at_open + allocator_sum(mb, COUNT_INODES_FREED) - allocator_sum(mb, COUNT_INODES_ALLOCATED);
}

/* All counters at once: one look at the workers, however many counters are wanted. */
static void sum_all(struct ext2mb *mb, struct stats *sum)
{
	memset(sum, 0, sizeof(*sum));
	pthread_mutex_lock(&mb->worker_lock);
	stats_merge(sum, &mb->closed_stats);
	for (const struct ext2mb_worker *worker = mb->workers; worker; worker = worker->next)
		stats_merge(sum, &worker->stats);
	pthread_mutex_unlock(&mb->worker_lock);
}

static uint64_t global_locks(struct ext2mb *mb)
{
	lock_wait(&mb->base_lock.lock);
	uint64_t taken = mb->base_lock.taken;
	lock_release(&mb->base_lock.lock);
	return taken;
}

errcode_t ext2mb_read_stats(struct ext2mb *mb, struct ext2mb_stats *stats)
{
	unsigned int cluster_bits = mb->geometry.cluster_bits;
	errcode_t error =
		sized_struct_is_writable(stats, SIZED_STRUCT_LEAST(struct ext2mb_stats, window_discards));
	struct stats sum;

	if (error)
		return error;
	sum_all(mb, &sum);
	uint64_t window_hits = stats_read(&sum, COUNT_WINDOW_HITS);
	const struct ext2mb_stats ours = {
		.requests = stats_read(&sum, COUNT_REQUESTS) + window_hits,
		.successes = stats_read(&sum, COUNT_SUCCESSES) + window_hits,
		.blocks_allocated = (stats_read(&sum, COUNT_CLUSTERS_ALLOCATED) +
		                     stats_read(&sum, COUNT_CLUSTERS_SERVED) -
		                     stats_read(&sum, COUNT_CLUSTERS_RESERVED)) << cluster_bits,
		.frees = stats_read(&sum, COUNT_FREES),
		.blocks_freed = stats_read(&sum, COUNT_CLUSTERS_FREED) << cluster_bits,
		.goal_hits = stats_read(&sum, COUNT_GOAL_HITS),
		.stream_goal_hits = stats_read(&sum, COUNT_STREAM_GOAL_HITS),
		.length_hits = stats_read(&sum, COUNT_LENGTH_HITS),
		.packed = stats_read(&sum, COUNT_PACKED),
		.extents_scanned = stats_read(&sum, COUNT_EXTENTS_SCANNED),
		.groups_scanned = stats_read(&sum, COUNT_GROUPS_SCANNED),
		.busy_skips = stats_read(&sum, COUNT_BUSY_SKIPS),
		.busy_waits = stats_read(&sum, COUNT_BUSY_WAITS),
		.lost_chunks = stats_read(&sum, COUNT_LOST_CHUNKS),
		.bounces = stats_read(&sum, COUNT_BOUNCES),
		.breaks = stats_read(&sum, COUNT_BREAKS),
		.global_locks = global_locks(mb),
		.repeated_sweeps = stats_read(&sum, COUNT_REPEATED_SWEEPS),
		.inodes_allocated = stats_read(&sum, COUNT_INODES_ALLOCATED),
		.inodes_freed = stats_read(&sum, COUNT_INODES_FREED),
		.corrupt_groups = atomic_load_explicit(&mb->corrupt_groups, memory_order_relaxed),
		.window_hits = window_hits,
		.windows_opened = stats_read(&sum, COUNT_WINDOWS_OPENED),
		.window_discards = stats_read(&sum, COUNT_WINDOW_DISCARDS),
		.least_requests = stats_read(&sum, COUNT_LEAST_REQUESTS),
		.least_refusals = stats_read(&sum, COUNT_LEAST_REFUSALS),
	};
	sized_struct_write(stats, &ours, sizeof(ours));
	return 0;
}

errcode_t ext2mb_read_criterion_stats(struct ext2mb *mb, unsigned int index, struct ext2mb_criterion_stats *stats)
{
	static const char *const names[] = { "power of two", "goal length fast", "best available", "goal length slow",
		                             "any free" };
	errcode_t error =
		sized_struct_is_writable(stats, SIZED_STRUCT_LEAST(struct ext2mb_criterion_stats, failures));

	if (error)
		return error;
	if (index >= sizeof(names) / sizeof(*names))
		return EXT2MB_ET_BAD_RANGE;
	const struct ext2mb_criterion_stats ours = {
		.name = names[index],
		.hits = allocator_sum(mb, COUNT_CRITERION_HITS + index),
		.extents = allocator_sum(mb, COUNT_CRITERION_EXTENTS + index),
		.groups = allocator_sum(mb, COUNT_CRITERION_GROUPS + index),
		.failures = allocator_sum(mb, COUNT_CRITERION_FAILURES + index),
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
	group_index_switch(mb, is_on);
}

errcode_t ext2mb_next_free(struct ext2mb *mb, uint64_t from, struct ext2mb_extent *extent)
{
	const struct geometry *geometry = &mb->geometry;
	uint64_t start;
	uint32_t count;
	errcode_t error = pack_find(mb, position_after(geometry, from), geometry->clusters, &start, &count);

	if (error)
		return error;
	*extent = (struct ext2mb_extent){
		.start = geometry->first_block + (start << geometry->cluster_bits),
		.count = (uint64_t)count << geometry->cluster_bits,
	};
	return 0;
}

errcode_t ext2mb_inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request, ext2_ino_t *ino)
{
	struct ext2mb_inode_request copy;
	errcode_t error;

	request = sized_struct_read(request, &copy, sizeof(copy),
	                            SIZED_STRUCT_LEAST(struct ext2mb_inode_request, flags), &error);
	if (error)
		return error;
	if (request->flags & ~(uint64_t)INODE_FLAGS)
		return EXT2MB_ET_BAD_ARGUMENT;
	return inode_alloc(worker, request, ino);
}

errcode_t ext2mb_inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, int is_directory)
{
	return inode_free(worker, ino, is_directory);
}
