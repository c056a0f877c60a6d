// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is asked of a file, and changed in it, on every way to its blocks. */
#include "ext2fs/group/group_reserved.h"
#include "ext2fs/preallocation/directory_locality.h"
#include "ext2fs/preallocation/file.h"
#include "ext2fs/preallocation/worker_preallocation.h"

void file_clear_served(struct ext2mb_file *file)
{
	uint64_t position;
	uint32_t count;

	if (inode_pa_take_served(&file->windows, &position, &count))
		group_reserved_clear(file->mb, position, count);
}

errcode_t file_take_any(struct ext2mb_file *file, uint32_t logical, uint32_t most, struct file_taken *taken)
{
	file_clear_served(file);
	errcode_t error = inode_pa_take_any(&file->windows, logical, most, &taken->position, &taken->count);
	if (!error && taken->count)
		group_reserved_clear(file->mb, taken->position, taken->count);
	return error;
}

errcode_t file_find_directory(struct ext2mb_worker *worker, struct ext2mb_file *file)
{
	if (file->directory || !file->parent || file->mb->prealloc->locality != EXT2MB_LOCALITY_DIRECTORY)
		return 0;
	return directory_locality_visit(worker, file->parent, &file->directory);
}

struct locality_group *file_pool(struct ext2mb_worker *worker, struct ext2mb_file *file)
{
	return file->directory ? directory_locality_first(file->directory) : &worker->preallocation->pool;
}

bool file_uses_worker_pool(const struct ext2mb_worker *worker, const struct ext2mb_file *file)
{
	return !file->directory || worker_goes_in_order(worker);
}
