/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/attach/attached_files.h"

#include <errno.h>
#include <stdlib.h>

#include "allocator/preallocation/file_search.h"

errcode_t attached_files_create(struct attached_files *files, uint32_t most)
{
	uint32_t heads = 16;

	while (heads < most)
		heads *= 2;
	*files = (struct attached_files){
		.items = calloc(most, sizeof(*files->items)),
		.heads = malloc(heads * sizeof(*files->heads)),
		.mask = heads - 1,
		.kept = most < ATTACHED_FILES_FIRST ? most : ATTACHED_FILES_FIRST,
		.most = most,
		.newest = ATTACHED_FILES_NONE,
		.oldest = ATTACHED_FILES_NONE,
	};
	if (!files->items || !files->heads) {
		attached_files_destroy(files, NULL);
		return ENOMEM;
	}
	for (uint32_t head = 0; head < heads; head++)
		files->heads[head] = ATTACHED_FILES_NONE;
	return 0;
}

void attached_files_destroy(struct attached_files *files, struct ext2mb_worker *worker)
{
	for (uint32_t index = 0; index < files->count; index++)
		ext2mb_file_close(worker, files->items[index].file);
	free(files->items);
	free(files->heads);
	*files = (struct attached_files){ 0 };
}

static uint32_t *head_of(struct attached_files *files, ext2_ino_t ino)
{
	return &files->heads[ino * UINT32_C(2654435761) >> 7 & files->mask];
}

static void leave_order(struct attached_files *files, uint32_t index)
{
	const struct attached_file *file = &files->items[index];

	*(file->newer == ATTACHED_FILES_NONE ? &files->newest : &files->items[file->newer].older) = file->older;
	*(file->older == ATTACHED_FILES_NONE ? &files->oldest : &files->items[file->older].newer) = file->newer;
}

static void make_newest(struct attached_files *files, uint32_t index)
{
	struct attached_file *file = &files->items[index];

	file->newer = ATTACHED_FILES_NONE;
	file->older = files->newest;
	*(files->newest == ATTACHED_FILES_NONE ? &files->oldest : &files->items[files->newest].newer) = index;
	files->newest = index;
}

static struct attached_file *use(struct attached_files *files, uint32_t index)
{
	if (files->newest != index) {
		files->begun = 0;
		leave_order(files, index);
		make_newest(files, index);
	}
	if (files->items[index].is_ended) {
		files->distrusted = ATTACHED_FILES_FIRST;
		files->items[index].has_gone_on = true;
	}
	files->items[index].is_ended = false;
	return &files->items[index];
}

struct attached_file *attached_files_find(struct attached_files *files, ext2_ino_t ino)
{
	for (uint32_t index = *head_of(files, ino); index != ATTACHED_FILES_NONE; index = files->items[index].same_hash)
		if (files->items[index].ino == ino)
			return use(files, index);
	return NULL;
}

/* Closes the oldest file and returns its place. */
static uint32_t drop_oldest(struct attached_files *files, struct ext2mb_worker *worker)
{
	uint32_t index = files->oldest;
	uint32_t *link = head_of(files, files->items[index].ino);

	while (*link != index)
		link = &files->items[*link].same_hash;
	*link = files->items[index].same_hash;
	leave_order(files, index);
	ext2mb_file_close(worker, files->items[index].file);
	return index;
}

errcode_t attached_files_add(struct attached_files *files, struct ext2mb_worker *worker,
                             const struct ext2mb_file_info *info, struct attached_file **ret)
{
	struct ext2mb_file *file;
	errcode_t error = ext2mb_file_open(worker, info, &file);

	if (error)
		return error;
	if (files->begun < ATTACHED_FILES_FIRST)
		files->begun++;
	else
		file_leave_rest(worker, files->items[files->newest].file);
	uint32_t index = files->count < files->kept ? files->count++ : drop_oldest(files, worker);
	uint32_t *head = head_of(files, info->ino);

	files->items[index] = (struct attached_file){ .file = file, .ino = info->ino, .same_hash = *head };
	*head = index;
	make_newest(files, index);
	*ret = &files->items[index];
	return 0;
}

void attached_files_end_newest(struct attached_files *files, struct ext2mb_worker *worker)
{
	if (files->newest == ATTACHED_FILES_NONE)
		return;
	if (files->distrusted) {
		files->distrusted--;
		return;
	}
	files->items[files->newest].is_ended = true;
	file_leave_rest(worker, files->items[files->newest].file);
}

void attached_files_keep_more(struct attached_files *files)
{
	files->begun = 0;
	files->kept = files->kept < files->most - files->kept ? 2 * files->kept : files->most;
}

struct attached_file *attached_files_find_indirect(struct attached_files *files, uint64_t block)
{
	if (!block && files->newest != ATTACHED_FILES_NONE && files->items[files->newest].is_indirect)
		return &files->items[files->newest];
	for (uint32_t index = files->newest; index != ATTACHED_FILES_NONE; index = files->items[index].older) {
		const struct attached_file *file = &files->items[index];

		if (file->is_indirect && block >= file->run_start && block < file->run_end)
			return use(files, index);
	}
	return NULL;
}

struct attached_file *attached_files_find_end(struct attached_files *files, uint64_t block)
{
	for (uint32_t index = files->newest; index != ATTACHED_FILES_NONE; index = files->items[index].older)
		if (files->items[index].run_end == block)
			return &files->items[index];
	return NULL;
}

void attached_file_extend(struct attached_file *file, uint64_t logical, const struct ext2mb_extent *extent)
{
	if (extent->start != file->run_end)
		file->run_start = extent->start;
	file->run_end = extent->start + extent->count;
	file->next_logical = logical + extent->count;
}
