/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/file_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/core/allocator.h"
#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/preallocation/preallocation.h"
#include "simulate/image/image.h"
#include "simulate/image/inode_buffers.h"

/* The most blocks that Linux requests at once in writeback (MAX_WRITEPAGES_EXTENT_LEN), page by page. */
#define WRITEBACK_BLOCKS 2048u
#define PAGE_BYTES 4096u

static errcode_t alloc_inode(struct ext2mb_worker *worker, uint32_t parent, const char *name, uint32_t flags,
                             uint32_t *ret)
{
	const struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request), .parent = parent, .name = name, .flags = flags
	};
	ext2_ino_t ino;
	errcode_t error = ext2mb_inode_alloc(worker, &request, &ino);

	if (!error)
		*ret = ino;
	return error;
}

/* Appends `count` blocks from a physical block on to the file, up to its new size. */
static errcode_t grow(struct simulated_file *file, uint64_t physical, uint64_t count, uint32_t blocks)
{
	if (count > blocks - file->blocks)
		count = blocks - file->blocks;
	errcode_t error = extent_list_add(&file->map, file->blocks, physical, count);

	if (!error)
		file->blocks += (uint32_t)count;
	return error;
}

errcode_t file_set_prepare(struct image *image, struct file_set *parent, const char *name, size_t count,
                           struct file_set **ret)
{
	struct file_set *set = calloc(1, sizeof(*set));
	size_t bytes = count * sizeof(*set->files);

	if (!set)
		return ENOMEM;
	set->name = strdup(name);
	set->files = count ? aligned_alloc(_Alignof(struct simulated_file), bytes) : NULL;
	set->count = count;
	errcode_t error = !set->name || (count && !set->files) ? ENOMEM : 0;

	if (set->files)
		memset(set->files, 0, bytes);
	for (size_t index = 0; set->files && index < count && !image->format.extents; index++)
		set->files[index].pointers = image->format.block_bytes / (uint32_t)sizeof(uint32_t);
	if (error) {
		file_set_free(set);
		return error;
	}
	if (parent) {
		set->parent = parent;
		set->next = parent->first;
		parent->first = set;
	} else {
		image->files = set;
		set->directory.ino = image->directory_ino;
		error = image->directory_ino ? grow(&set->directory, image->directory_block, 1, 1) : 0;
	}
	*ret = set;
	return error;
}

errcode_t file_set_alloc_directory(struct file_set *set, struct ext2mb_worker *worker)
{
	uint32_t parent = set->parent ? set->parent->directory.ino : EXT2_ROOT_INO;

	if (set->directory.ino)
		return 0;
	return alloc_inode(worker, parent, set->name, EXT2MB_INODE_DIRECTORY, &set->directory.ino);
}

errcode_t file_set_create(struct image *image, struct file_set *parent, const char *name, size_t count,
                          struct file_set **ret)
{
	errcode_t error = file_set_prepare(image, parent, name, count, ret);

	return error ? error : file_set_alloc_directory(*ret, image->worker);
}

errcode_t file_set_alloc_inode(struct file_set *set, size_t index, struct ext2mb_worker *worker)
{
	return alloc_inode(worker, set->directory.ino, NULL, 0, &set->files[index].ino);
}

errcode_t file_set_alloc_inodes(struct file_set *set, struct ext2mb_worker *worker)
{
	for (size_t index = 0; index < set->count; index++) {
		errcode_t error = file_set_alloc_inode(set, index, worker);

		if (error)
			return error;
	}
	return 0;
}

/* With bigalloc, rounds up to the end of the cluster that has the previous block. */
static uint64_t cluster_end(const struct geometry *geometry, uint64_t blocks)
{
	uint64_t most = geometry_cluster_blocks(geometry) - 1;

	return (blocks + most) & ~most;
}

/*
 * The size that the allocator is told. Linux compares a request's end, which is that of a cluster, with the file's
 * exact size: so it knows the end only of a file of whole clusters. Our own policy is told in clusters.
 */
static uint64_t told_size(const struct ext2mb *mb, uint64_t blocks)
{
	return preallocation_is_ours(mb) ? cluster_end(&mb->geometry, blocks) : blocks;
}

errcode_t simulated_file_open(const struct file_set *set, struct simulated_file *file, uint64_t final_blocks,
                              struct ext2mb_worker *worker)
{
	const struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = file->ino,
		.parent = set->directory.ino,
		.blocks = told_size(worker->mb, final_blocks ? final_blocks : file->blocks),
		.flags = final_blocks ? EXT2MB_FILE_FINAL : 0,
	};

	return ext2mb_file_open(worker, &info, &file->handle);
}

void simulated_file_close(struct simulated_file *file, struct ext2mb_worker *worker)
{
	ext2mb_file_close(worker, TAKE(file->handle));
}

void simulated_file_ends(struct simulated_file *file, uint64_t blocks)
{
	file_ends(file->handle, told_size(file->handle->mb, blocks));
}

/* The block after the file's last one; 0: the file is empty. */
static uint64_t physical_end(const struct simulated_file *file)
{
	if (!file->map.count)
		return 0;
	const struct file_extent *last = &file->map.extents[file->map.count - 1];

	return last->physical + (last->count & ~FILE_EXTENT_UNWRITTEN);
}

/* Uses the remaining blocks of the file's last cluster. */
static errcode_t grow_in_cluster(struct simulated_file *file, const struct geometry *geometry, uint32_t blocks)
{
	uint64_t count = cluster_end(geometry, file->blocks) - file->blocks;

	return count && file->blocks < blocks ? grow(file, physical_end(file), count, blocks) : 0;
}

/* A request ends where the block of an indirect map ends that has its first block, or the inode's own pointers. */
static uint32_t mapped_end(const struct simulated_file *file, uint32_t end)
{
	uint64_t most = EXT2_NDIR_BLOCKS;

	if (!file->pointers)
		return end;
	if (file->blocks >= most)
		most += round_up(file->blocks - most + 1, file->pointers);
	return (uint32_t)min_u64(end, most);
}

/* The end of the file; but Linux's goal in an indirect map's new block, which it allocates first, is that block. */
static uint64_t goal_of_request(const struct simulated_file *file, const struct ext2mb *mb)
{
	bool is_new = file->pointers && simulated_file_begins_map_block(file) && file->map_count;

	return is_new && !preallocation_is_ours(mb) ? file->map_blocks[file->map_count - 1] : physical_end(file);
}

/* Allocates one extent of the blocks that are missing before `end`, in a request for `whole`. */
static errcode_t append_extent(struct image *image, struct simulated_file *file, struct ext2mb_worker *worker,
                               uint32_t end, uint64_t whole, uint32_t flags)
{
	errcode_t error = image && file->pointers ? simulated_file_grow_map(image, file, worker) : 0;

	if (error)
		return error;
	end = mapped_end(file, end);
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = file->blocks,
		.count = cluster_end(&worker->mb->geometry, end) - file->blocks,
		.whole_count = whole,
		.left_physical = goal_of_request(file, worker->mb),
		.flags = flags,
	};
	struct ext2mb_extent extent;

	error = ext2mb_file_alloc(worker, file->handle, &request, &extent);

	if (!error)
		error = grow(file, extent.start, extent.count, end);
	return error || !image || file->pointers ? error : simulated_file_grow_map(image, file, worker);
}

errcode_t simulated_file_append(struct image *image, struct simulated_file *file, struct ext2mb_worker *worker,
                                uint32_t blocks, uint32_t flags)
{
	errcode_t error = grow_in_cluster(file, &worker->mb->geometry, blocks);
	const uint64_t whole = cluster_end(&worker->mb->geometry, blocks) - file->blocks;

	while (!error && file->blocks < blocks)
		error = append_extent(image, file, worker, blocks, whole, flags);
	return error;
}

/* How many blocks a request asks for. After a short result Linux first asks for the rest of the page that it ended in.
 */
static uint32_t request_blocks(const struct geometry *geometry, uint32_t start, bool follows_short)
{
	uint32_t bytes = (uint32_t)geometry_block_bytes(geometry), page = bytes < PAGE_BYTES ? PAGE_BYTES / bytes : 1;

	return follows_short && start % page ? page - start % page : WRITEBACK_BLOCKS;
}

errcode_t simulated_file_write_back(struct image *image, struct simulated_file *file, struct ext2mb_worker *worker,
                                    uint32_t blocks)
{
	const struct geometry *geometry = &worker->mb->geometry;
	bool is_short = false;
	errcode_t error = grow_in_cluster(file, geometry, blocks);

	while (!error && file->blocks < blocks) {
		uint64_t count = request_blocks(geometry, file->blocks, is_short);
		uint32_t end = (uint32_t)min_u64(blocks, file->blocks + count);

		error = append_extent(image, file, worker, end, 0, 0);
		is_short = file->blocks < end;
		if (!error)
			error = grow_in_cluster(file, geometry, blocks);
	}
	return error;
}

errcode_t simulated_file_finish(const struct file_set *set, struct simulated_file *file, struct ext2mb_worker *worker,
                                uint32_t blocks, uint32_t flags)
{
	errcode_t error = simulated_file_open(set, file, blocks, worker);

	if (!error)
		error = flags & EXT2MB_FILE_UNWRITTEN ? simulated_file_append(NULL, file, worker, blocks, flags) :
		                                        simulated_file_write_back(NULL, file, worker, blocks);
	simulated_file_close(file, worker);
	return error;
}

errcode_t simulated_file_append_near(struct simulated_file *file, struct ext2mb_worker *worker, uint64_t goal,
                                     uint32_t blocks)
{
	const struct geometry *geometry = &worker->mb->geometry;
	errcode_t error = grow_in_cluster(file, geometry, blocks);

	while (!error && file->blocks < blocks) {
		const struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = goal,
			.count = cluster_end(geometry, blocks) - file->blocks,
		};
		struct ext2mb_extent extent;

		error = ext2mb_alloc(worker, &request, &extent);
		if (!error)
			error = grow(file, extent.start, extent.count, blocks);
		goal = extent.start + extent.count;
	}
	return error;
}

/* Frees the clusters that begin in an extent at or after this logical block. */
static errcode_t free_end(struct ext2mb_worker *worker, const struct file_extent *extent, uint32_t blocks)
{
	const struct geometry *geometry = &worker->mb->geometry;
	uint64_t end = extent->logical + (extent->count & ~FILE_EXTENT_UNWRITTEN);
	uint64_t first = cluster_end(geometry, blocks > extent->logical ? blocks : extent->logical);

	return first < end ? ext2mb_free(worker, extent->physical + (first - extent->logical),
	                                 cluster_end(geometry, end) - first) :
	                     0;
}

errcode_t simulated_file_shrink(struct simulated_file *file, struct ext2mb_worker *worker, uint32_t blocks)
{
	assert(!file->map_count);
	while (file->blocks > blocks) {
		struct file_extent *last = &file->map.extents[file->map.count - 1];
		uint32_t length = last->count & ~FILE_EXTENT_UNWRITTEN;
		uint32_t surplus = file->blocks - blocks < length ? file->blocks - blocks : length;
		errcode_t error = free_end(worker, last, blocks);

		if (error)
			return error;
		last->count -= surplus;
		file->blocks -= surplus;
		if (surplus == length)
			file->map.count--;
	}
	return 0;
}

bool simulated_file_next_run(const struct simulated_file *file, size_t *index, struct ext2mb_extent *run)
{
	if (*index == file->map.count)
		return false;
	*run = (struct ext2mb_extent){ .start = file->map.extents[*index].physical };
	for (; *index < file->map.count && file->map.extents[*index].physical == run->start + run->count; ++*index)
		run->count += file->map.extents[*index].count & ~FILE_EXTENT_UNWRITTEN;
	return true;
}

errcode_t simulated_file_truncate(struct simulated_file *file, struct ext2mb_worker *worker)
{
	const struct geometry *geometry = &worker->mb->geometry;
	struct ext2mb_extent run;
	errcode_t error = 0;

	/* Each run is freed with one call, as a truncation to 0 does. */
	for (size_t index = 0; !error && simulated_file_next_run(file, &index, &run);)
		error = ext2mb_free(worker, run.start, cluster_end(geometry, run.count));
	for (uint32_t block = 0; !error && block < file->map_count; block++)
		error = ext2mb_free(worker, file->map_blocks[block], geometry_cluster_blocks(geometry));
	file->map.count = 0;
	file->map_count = 0;
	file->blocks = 0;
	return error;
}

errcode_t simulated_file_delete(struct simulated_file *file, struct ext2mb_worker *worker)
{
	errcode_t error = simulated_file_truncate(file, worker);

	if (!error)
		error = ext2mb_inode_free(worker, file->ino, 0);
	file->ino = 0;
	return error;
}

static void free_file(struct simulated_file *file)
{
	free(file->map.extents);
	free(file->map_blocks);
}

void file_set_free(struct file_set *set)
{
	if (!set)
		return;
	for (struct file_set *child = set->first, *next; child; child = next) {
		next = child->next;
		file_set_free(child);
	}
	for (size_t index = 0; set->files && index < set->count; index++)
		free_file(&set->files[index]);
	free_file(&set->directory);
	inode_buffers_free(set->buffers);
	free(set->files);
	free(set->name);
	free(set);
}
