/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/dirty_files.h"

#include <errno.h>
#include <stdlib.h>

#include "simulate/image/image.h"
#include "support/scope_lock.h"
#include "support/vector.h"

errcode_t dirty_files_open(struct dirty_files *dirty, const struct image *image, uint64_t most_bytes)
{
	*dirty = (struct dirty_files){ .most_bytes = most_bytes, .image = image };
	pthread_mutex_init(&dirty->lock, NULL);
	return ext2mb_worker_open(image->mb, &dirty->worker);
}

void dirty_files_abandon(struct dirty_files *dirty, struct written_file *file)
{
	if (!file)
		return;
	simulated_file_close(file->file, dirty->worker);
	free(file);
}

/* The final size of a closed file is known. Blocks that were preallocated to it before it was closed stay its own. */
static errcode_t write_file(struct dirty_files *dirty, struct written_file *file)
{
	uint32_t blocks = (uint32_t)image_blocks_of(dirty->image, file->bytes);
	errcode_t error = file->file->handle ? 0 :
	                                       simulated_file_open(file->set, file->file, file->is_closed ? blocks : 0,
	                                                           dirty->worker);

	if (error)
		return error;
	if (file->is_closed)
		simulated_file_ends(file->file, blocks);
	return simulated_file_write_back(NULL, file->file, dirty->worker, blocks);
}

/* The caller holds the lock. */
static errcode_t write_all(struct dirty_files *dirty)
{
	errcode_t error = 0;

	for (size_t index = 0; index < dirty->count; index++) {
		struct written_file *file = dirty->files[index];

		if (!error)
			error = write_file(dirty, file);
		file->is_listed = false;
		if (file->is_closed)
			dirty_files_abandon(dirty, file);
	}
	dirty->count = 0;
	dirty->bytes = 0;
	return error;
}

errcode_t dirty_files_write_back(struct dirty_files *dirty)
{
	SCOPE_LOCK(&dirty->lock);
	return write_all(dirty);
}

errcode_t dirty_files_write(struct dirty_files *dirty, struct written_file *file, uint64_t bytes, bool closes)
{
	SCOPE_LOCK(&dirty->lock);
	errcode_t error = file->is_listed ? 0 :
	                                    vector_add(&dirty->files, &dirty->count, &dirty->capacity, &file,
	                                               sizeof(struct written_file *));

	if (error) {
		dirty_files_abandon(dirty, closes ? file : NULL);
		return error;
	}
	file->is_listed = true;
	file->bytes += bytes;
	file->is_closed = closes;
	dirty->bytes += bytes;
	return dirty->bytes >= dirty->most_bytes ? write_all(dirty) : 0;
}

void dirty_files_close(struct dirty_files *dirty)
{
	for (size_t index = 0; index < dirty->count; index++)
		if (dirty->files[index]->is_closed)
			dirty_files_abandon(dirty, dirty->files[index]);
	free(dirty->files);
	if (dirty->worker)
		ext2mb_worker_close(dirty->worker);
	pthread_mutex_destroy(&dirty->lock);
}
