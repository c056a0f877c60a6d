/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions for files: they check arguments, and serve requests from the file's own preallocations. */
#include "allocator/preallocation/file_search.h"

#include <errno.h>
#include <string.h>

#include "allocator/core/arithmetic.h"
#include "ext2fs/sized_struct.h"
#include "allocator/core/worker_use.h"
#include "allocator/preallocation/directory_locality.h"
#include "allocator/preallocation/preallocation.h"

SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_file_info, flags);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_file_request, flags);

errcode_t ext2mb_file_open(struct ext2mb_worker *worker, const struct ext2mb_file_info *info, struct ext2mb_file **ret)
{
	SCOPE_WORKER_USE(use, worker);
	if (use.error || !info || !ret)
		return use.error ? use.error : EXT2MB_ET_BAD_ARGUMENT;
	const struct geometry *geometry = &worker->mb->geometry;
	uint64_t inodes = (uint64_t)geometry->groups * geometry->inodes_per_group;
	struct ext2mb_file_info copy;
	errcode_t error;
	const struct ext2mb_file_info *ours = sized_struct_read(
		info, &copy, sizeof(copy), SIZED_STRUCT_LEAST(struct ext2mb_file_info, flags), &error);

	if (!ours)
		return error;
	if (ours->flags & ~(uint64_t)EXT2MB_FILE_FINAL || !ours->ino || ours->ino > inodes || ours->parent > inodes ||
	    ours->blocks > NORMALIZE_END)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct ext2mb_file *file = aligned_alloc(_Alignof(struct ext2mb_file), sizeof(*file));
	if (!file)
		return ENOMEM;
	memset(file, 0, sizeof(*file));
	file->owner.is_file = true;
	file->mb = worker->mb;
	file->ino = ours->ino;
	file->parent = ours->parent;
	file->is_final = ours->flags & EXT2MB_FILE_FINAL;
	file->blocks = ours->blocks;
	file->end = file->is_final ? 0 : ours->blocks;
	stats_add(&worker->stats, COUNT_FILES_OPENED, 1);
	*ret = file;
	return 0;
}

static bool stayed_small(const struct ext2mb_file *file)
{
	const struct preallocation_options *prealloc = file->mb->prealloc;

	return !file->is_final && file->last_physical && file->blocks <= prealloc->small_file_blocks &&
	       preallocation_is_ours(file->mb) && prealloc->locality != EXT2MB_LOCALITY_NONE;
}

/* The file began among small files, and further small files follow it. */
static bool lies_among_small(const struct ext2mb_worker *worker, const struct ext2mb_file *file)
{
	return file->began_small && file->may_have_any && (file->began_in_order || worker_goes_in_order(worker));
}

/*
 * The next file may begin there, since nobody has the blocks that follow. That is not so after a file that is longer
 * than a small one, and after which another file has begun.
 */
static bool is_next(const struct ext2mb_worker *worker, const struct ext2mb_file *file)
{
	return !worker->preallocation->goes_in_order || worker->preallocation->pool.newest == file->ino;
}

/*
 * The next small file gets what a small file leaves over; given back, it would only leave short free extents. From now
 * on the allocator expects small files here. The next one is written by the worker that wrote this one, whoever closes
 * it.
 */
static void leave_to_others(struct ext2mb_worker *worker, struct ext2mb_file *file)
{
	struct preallocation_list *list = &file->owner.list;
	struct locality_group *pool;

	if (file_find_pool(worker, file, &pool))
		return;
	locality_group_want(pool);
	if (file->home)
		pool = file->home;
	else if (worker_goes_in_order(worker))
		pool = &worker->preallocation->pool;
	lock_wait(&file->owner.lock);
	preallocation_owner_clear_served(&file->owner, worker->mb);
	preallocation_move_begin(&worker->stats);
	for (uint32_t index = 0; index < list->count; index++)
		locality_group_return(worker, pool, &list->items[index]);
	file_count_preallocations(file, &worker->stats, list->count, 0);
	list->count = 0;
	preallocation_move_end(&worker->stats);
	lock_release(&file->owner.lock);
}

static void forget_slice(struct ext2mb_file *file)
{
	if (file->has_slice)
		atomic_fetch_sub_explicit(&file->home->slices, 1, memory_order_relaxed);
	file->has_slice = false;
}

void file_leave_rest(struct ext2mb_worker *worker, struct ext2mb_file *file)
{
	forget_slice(file);
	if (stayed_small(file) || (lies_among_small(worker, file) && is_next(worker, file)))
		leave_to_others(worker, file);
	if (file->is_registered)
		preallocation_owner_give_back(&file->owner, file->mb, &worker->stats, NULL);
}

void ext2mb_file_close(struct ext2mb_worker *worker, struct ext2mb_file *file)
{
	SCOPE_WORKER_USE(use, worker);
	/* With a worker of another allocator the file stays open. ext2mb_close() reports it. */
	if (use.error || !file || file->mb != worker->mb)
		return;
	file_leave_rest(worker, file);
	if (file->is_registered)
		preallocation_register_remove(worker->mb->preallocations, &file->owner);
	if (file->directory)
		directory_locality_leave(worker, file->directory);
	if (file->home)
		locality_group_leave(file->home);
	preallocation_list_destroy(&file->owner.list);
	stats_add(&worker->stats, COUNT_FILES_CLOSED, 1);
	free(file);
}

void ext2mb_file_truncate(struct ext2mb_worker *worker, struct ext2mb_file *file, uint64_t blocks)
{
	SCOPE_WORKER_USE(use, worker);
	if (use.error || !file || file->mb != worker->mb)
		return;
	if (file->is_registered)
		preallocation_owner_give_back(&file->owner, file->mb, &worker->stats, NULL);
	file->blocks = file->end = min_u64(blocks, NORMALIZE_END);
	if (file->last_logical != blocks)
		file->last_logical = file->last_physical = 0;
}

static bool is_neighbour(const struct geometry *geometry, uint64_t block)
{
	return !block || (block >= geometry->first_block && block <= geometry->end_block &&
	                  geometry_is_whole_clusters(geometry, block - geometry->first_block));
}

static bool is_valid(const struct geometry *geometry, const struct ext2mb_file_request *request)
{
	uint64_t end = request->logical + request->count;

	if (request->flags & ~(uint64_t)EXT2MB_FILE_UNWRITTEN || !request->count || request->logical >= NORMALIZE_END ||
	    request->count > NORMALIZE_END - request->logical ||
	    !geometry_is_whole_clusters(geometry, request->logical | request->count))
		return false;
	if (!is_neighbour(geometry, request->left_physical) || !is_neighbour(geometry, request->right_physical))
		return false;
	return !request->hole_end || (request->hole_start <= request->logical && end <= request->hole_end &&
	                              request->hole_end <= NORMALIZE_END &&
	                              geometry_is_whole_clusters(geometry, request->hole_start | request->hole_end));
}

/* Remembers where the file's last blocks are. */
static void extend(struct ext2mb_file *file, uint64_t logical, const struct ext2mb_extent *extent)
{
	file->last_logical = logical + extent->count;
	file->last_physical = extent->start + extent->count;
	if (file->last_logical > file->end)
		file->end = file->last_logical;
	if (file->end > file->blocks)
		file->blocks = file->end;
}

/* Serves what the file's own preallocations have of the request, perhaps nothing. */
static errcode_t alloc_preallocated(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                    const struct ext2mb_file_request *request, struct preallocation *taken)
{
	const struct geometry *geometry = &worker->mb->geometry;

	lock_wait(&file->owner.lock);
	uint32_t before = file->owner.list.count;
	errcode_t error = preallocation_owner_alloc(&file->owner, worker->mb,
	                                            (uint32_t)geometry_to_clusters(geometry, request->logical),
	                                            (uint32_t)geometry_to_clusters(geometry, request->count), taken);
	uint32_t after = file->owner.list.count;
	lock_release(&file->owner.lock);
	file_count_preallocations(file, &worker->stats, before, after);
	if (error || !taken->count)
		return error;
	stats_add(&worker->stats, COUNT_PREALLOCATION_HITS, 1);
	stats_add(&worker->stats, COUNT_CLUSTERS_SERVED, taken->count);
	return 0;
}

/* From its own preallocations, else by a search. */
static errcode_t alloc_any(struct ext2mb_worker *worker, struct ext2mb_file *file,
                           const struct ext2mb_file_request *request, struct ext2mb_extent *extent)
{
	const struct geometry *geometry = &worker->mb->geometry;
	struct preallocation taken = { 0 };
	errcode_t error = 0;

	if (file->may_have_any)
		error = alloc_preallocated(worker, file, request, &taken);
	if (error)
		return error;
	if (!taken.count) {
		stats_add(&worker->stats, COUNT_REQUESTS, 1);
		error = file_search(worker, file, request, &taken);
		if (error)
			return error;
		stats_add(&worker->stats, COUNT_SUCCESSES, 1);
	}
	*extent = (struct ext2mb_extent){
		.start = geometry_block_at(geometry, taken.position),
		.count = geometry_to_blocks(geometry, taken.count),
	};
	return 0;
}

errcode_t ext2mb_file_alloc(struct ext2mb_worker *worker, struct ext2mb_file *file,
                            const struct ext2mb_file_request *request, struct ext2mb_extent *extent)
{
	SCOPE_WORKER_USE(use, worker);
	struct ext2mb_file_request copy;
	errcode_t error;

	if (use.error || !file || file->mb != worker->mb || !request || !extent)
		return use.error ? use.error : EXT2MB_ET_BAD_ARGUMENT;
	const struct ext2mb_file_request *ours = sized_struct_read(
		request, &copy, sizeof(copy), SIZED_STRUCT_LEAST(struct ext2mb_file_request, flags), &error);

	if (!ours)
		return error;
	if (!is_valid(&worker->mb->geometry, ours))
		return EXT2MB_ET_BAD_ARGUMENT;
	do {
		error = alloc_any(worker, file, ours, extent);
		if (error)
			return error;
	} while (worker->has_none_marked && !worker->has_none_marked(worker, extent));
	extend(file, ours->logical, extent);
	return 0;
}
