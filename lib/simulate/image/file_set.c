// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/image/file_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/image/image.h"
#include "simulate/image/inode_buffers.h"

static errcode_t take_inode(struct ext2mb_worker *worker, uint32_t parent, const char *name, uint32_t flags,
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
	}
	*ret = set;
	return 0;
}

errcode_t file_set_take_directory(struct file_set *set, struct ext2mb_worker *worker)
{
	uint32_t parent = set->parent ? set->parent->directory.ino : EXT2_ROOT_INO;

	return take_inode(worker, parent, set->name, EXT2MB_INODE_DIRECTORY, &set->directory.ino);
}

errcode_t file_set_create(struct image *image, struct file_set *parent, const char *name, size_t count,
                          struct file_set **ret)
{
	errcode_t error = file_set_prepare(image, parent, name, count, ret);

	return error ? error : file_set_take_directory(*ret, image->worker);
}

errcode_t file_set_take_inode(struct file_set *set, size_t index, struct ext2mb_worker *worker)
{
	return take_inode(worker, set->directory.ino, NULL, 0, &set->files[index].ino);
}

errcode_t file_set_take_inodes(struct file_set *set, struct ext2mb_worker *worker)
{
	for (size_t index = 0; index < set->count; index++) {
		errcode_t error = file_set_take_inode(set, index, worker);

		if (error)
			return error;
	}
	return 0;
}

errcode_t simulated_file_open(const struct file_set *set, const struct simulated_file *file, uint64_t final_blocks,
                              struct ext2mb_worker *worker, struct ext2mb_file **handle)
{
	const struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = file->ino,
		.parent = set->directory.ino,
		.blocks = final_blocks ? final_blocks : file->blocks,
		.flags = final_blocks ? EXT2MB_FILE_FINAL : 0,
	};

	return ext2mb_file_open(worker, &info, handle);
}

/* The file grows by an extent. */
static errcode_t grow(struct simulated_file *file, const struct ext2mb_extent *extent)
{
	if (file->blocks + extent->count > UINT32_MAX)
		return EFBIG;
	errcode_t error = extent_list_add(&file->map, file->blocks, extent->start, extent->count);

	if (!error)
		file->blocks += (uint32_t)extent->count;
	return error;
}

/* The block after its last one; 0: it is empty. */
static uint64_t physical_end(const struct simulated_file *file)
{
	if (!file->map.count)
		return 0;
	const struct file_extent *last = &file->map.extents[file->map.count - 1];

	return last->physical + (last->count & ~FILE_EXTENT_UNWRITTEN);
}

errcode_t simulated_file_append(struct simulated_file *file, struct ext2mb_worker *worker, struct ext2mb_file *handle,
                                uint32_t blocks, uint32_t flags)
{
	const uint64_t whole = blocks - file->blocks;

	while (file->blocks < blocks) {
		const struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = file->blocks,
			.count = blocks - file->blocks,
			.whole_count = whole,
			.left_physical = physical_end(file),
			.flags = flags,
		};
		struct ext2mb_extent extent;
		errcode_t error = ext2mb_file_alloc(worker, handle, &request, &extent);

		if (!error)
			error = grow(file, &extent);
		if (error)
			return error;
	}
	return 0;
}

errcode_t simulated_file_finish(const struct file_set *set, struct simulated_file *file, struct ext2mb_worker *worker,
                                uint32_t blocks, uint32_t flags)
{
	struct ext2mb_file *handle;
	errcode_t error = simulated_file_open(set, file, blocks, worker, &handle);

	if (error)
		return error;
	error = simulated_file_append(file, worker, handle, blocks, flags);
	ext2mb_file_close(worker, handle);
	return error;
}

errcode_t simulated_file_append_near(struct simulated_file *file, struct ext2mb_worker *worker, uint64_t goal,
                                     uint32_t blocks)
{
	while (file->blocks < blocks) {
		const struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = goal,
			.count = blocks - file->blocks,
		};
		struct ext2mb_extent extent;
		errcode_t error = ext2mb_alloc(worker, &request, &extent);

		if (!error)
			error = grow(file, &extent);
		if (error)
			return error;
		goal = extent.start + extent.count;
	}
	return 0;
}

errcode_t simulated_file_shrink(struct simulated_file *file, struct ext2mb_worker *worker, uint32_t blocks)
{
	assert(!file->map_count);
	while (file->blocks > blocks) {
		struct file_extent *last = &file->map.extents[file->map.count - 1];
		uint32_t length = last->count & ~FILE_EXTENT_UNWRITTEN;
		uint32_t surplus = file->blocks - blocks < length ? file->blocks - blocks : length;
		errcode_t error = ext2mb_free(worker, last->physical + length - surplus, surplus);

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
	struct ext2mb_extent run;
	errcode_t error = 0;

	/* A run is freed at once, as a truncation of the whole does it. */
	for (size_t index = 0; !error && simulated_file_next_run(file, &index, &run);)
		error = ext2mb_free(worker, run.start, run.count);
	for (uint32_t block = 0; !error && block < file->map_count; block++)
		error = ext2mb_free(worker, file->map_blocks[block], 1);
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
