/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/file_search.h"

#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/directory_locality.h"
#include "allocator/preallocation/file_need.h"
#include "allocator/preallocation/large_search.h"
#include "allocator/preallocation/reclaim.h"
#include "allocator/preallocation/small_search.h"

/* Finds the hole: from the caller, from the file's end, or else the request itself. */
static void find_hole(struct file_need *need)
{
	const struct ext2mb_file_request *request = need->request;
	const struct ext2mb_file *file = need->file;
	uint64_t cluster = geometry_cluster_blocks(&need->mb->geometry);

	need->right_physical = request->hole_end ? request->right_physical : 0;
	need->left_physical = request->left_physical;
	if (request->hole_end) {
		need->hole_start = request->hole_start;
		need->hole_end = request->hole_end;
	} else if (request->logical >= file->end) {
		need->hole_start = min_u64(round_up(file->end, cluster), request->logical);
		need->hole_end = round_down(NORMALIZE_END, cluster);
	} else {
		need->hole_start = request->logical;
		need->hole_end = request->logical + request->count;
	}
	if (!need->left_physical && file->last_physical && file->last_logical == need->hole_start)
		need->left_physical = file->last_physical;
	if (need->mb->policy.ignores_neighbours) {
		need->hole_start = 0;
		need->hole_end = round_down(NORMALIZE_END, cluster);
	}
}

/* Needs the file's lock. The file's other preallocations are not part of the hole. */
static void clip_hole(struct file_need *need)
{
	const struct geometry *geometry = &need->mb->geometry;
	uint64_t start = geometry_to_clusters(geometry, need->hole_start);
	uint64_t end = geometry_to_clusters(geometry, need->hole_end);

	bool joins = !need->mb->policy.ignores_neighbours;

	inode_pa_clip_hole(&need->file->owner.list, need_logical(need), &start, &end);
	if (need->file->owner.list.count && need->file->held_end <= need->request->logical)
		start = max_u64(start, geometry_to_clusters(geometry, need->file->held_end));
	if (joins && geometry_to_blocks(geometry, start) != need->hole_start)
		need->left_physical = 0;
	if (joins && geometry_to_blocks(geometry, end) != need->hole_end)
		need->right_physical = 0;
	need->hole_start = geometry_to_blocks(geometry, start);
	need->hole_end = geometry_to_blocks(geometry, end);
	need->count = min_u64(need->request->count, need->hole_end - need->request->logical);
}

errcode_t file_find_pool(struct ext2mb_worker *worker, struct ext2mb_file *file, struct locality_group **pool)
{
	*pool = &worker->preallocation->pool;
	if (!file->directory && file->parent && file->mb->prealloc->locality == EXT2MB_LOCALITY_DIRECTORY) {
		errcode_t error = directory_locality_visit(worker, file->parent, &file->directory);
		if (error)
			return error;
	}
	if (file->directory)
		*pool = &file->directory->pools[0];
	return 0;
}

/* The steps that must not be done with the file's lock held. */
static errcode_t prepare(struct file_need *need, bool *small)
{
	struct ext2mb_file *file = need->file;

	preallocation_renew_hints(need->worker);
	if (*small) {
		struct locality_group *pool;
		errcode_t error = file_find_pool(need->worker, file, &pool);
		if (error)
			return error;
		if (file->is_final)
			locality_group_want(pool);
		*small = small_search_joins(need, pool);
		if (*small && worker_goes_in_order(need->worker))
			directory_locality_take_over(need->worker);
		need->begins_with_slice = *small && small_search_begins_with_slice(need);
	}
	bool may_get_any =
		*small ? small_search_gives_more(need) : need->mb->prealloc->normalization != EXT2MB_NORMALIZE_NONE;
	if (may_get_any && !file->is_registered) {
		preallocation_register_add(need->mb->preallocations, &file->owner, need->worker->number);
		file->is_registered = true;
	}
	return 0;
}

/* The last clusters are handed out without a preallocation. */
static errcode_t alloc_last(const struct file_need *need, struct preallocation *taken)
{
	struct scan_request scan = {
		.count = geometry_to_clusters(&need->mb->geometry, need->count),
		.stream = need->file->ino,
		.flags = EXT2MB_ALLOC_STREAM,
	};

	return reclaim_alloc(need->worker, &scan, &taken->position, &taken->count);
}

errcode_t file_search(struct ext2mb_worker *worker, struct ext2mb_file *file, const struct ext2mb_file_request *request,
                      struct preallocation *taken)
{
	struct file_need need = {
		.worker = worker,
		.mb = worker->mb,
		.file = file,
		.request = request,
		.count = request->count,
	};
	bool small = small_search_suits(&need);

	find_hole(&need);
	errcode_t error = prepare(&need, &small);
	if (error)
		return error;
	lock_wait(&file->owner.lock);
	uint32_t before = file->owner.list.count;
	clip_hole(&need);
	error = small ? small_search(&need, taken) : large_search(&need, taken);
	uint32_t after = file->owner.list.count;
	lock_release(&file->owner.lock);
	file_count_preallocations(file, &worker->stats, before, after);
	if (error == EXT2MB_ET_NO_SPACE)
		return alloc_last(&need, taken);
	if (!error)
		stats_add(&worker->stats, COUNT_CLUSTERS_SERVED, taken->count);
	return error;
}
