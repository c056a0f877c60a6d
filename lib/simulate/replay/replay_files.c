/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/replay_files.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

static int by_ino(const void *left, const void *right)
{
	const struct replay_file *one = left, *other = right;

	return (one->ino > other->ino) - (one->ino < other->ino);
}

static uint64_t inode_count(const struct replay_files *files)
{
	return (uint64_t)files->image->geometry.groups * files->image->geometry.inodes_per_group;
}

static bool is_possible(const struct replay_files *files, uint32_t ino)
{
	return ino && ino <= inode_count(files);
}

errcode_t replay_files_open(struct replay_files *files, struct image *image)
{
	*files = (struct replay_files){ .image = image };
	files->known = calloc(inode_count(files) / 8 + 1, 1);
	return files->known ? 0 : ENOMEM;
}

/* Returns whether the image's inode counts; from now on it does not. */
static bool ask_image(struct replay_files *files, uint32_t ino)
{
	uint8_t bit = (uint8_t)(1u << ino % 8), *byte = &files->known[ino / 8];
	bool counts = !(*byte & bit);

	*byte |= bit;
	return counts;
}

struct replay_file *replay_files_look_up(const struct replay_files *files, uint32_t ino)
{
	const struct replay_file key = { .ino = ino };
	struct replay_file *const *node = tfind(&key, &files->tree, by_ino);

	return node ? *node : NULL;
}

static errcode_t add_file(struct replay_files *files, uint32_t ino, struct replay_file **ret)
{
	SCOPE_FREE struct replay_file *file = calloc(1, sizeof(*file));

	if (!file)
		return ENOMEM;
	file->ino = file->simulated_ino = ino;
	if (!tsearch(file, &files->tree, by_ino))
		return ENOMEM;
	LIST_INSERT_HEAD(&files->all, file, all);
	*ret = TAKE(file);
	return 0;
}

/* --- Files of the image -------------------------------------------------------------------------------------- */

struct loading {
	struct replay_files *files;
	struct replay_file *file;
};

/* They are in the same place in both layouts. Shared blocks, as xattrs may be, belong to the first file. */
static errcode_t load_clusters(void *context, uint32_t logical, uint64_t block, uint32_t count, bool is_data)
{
	const struct loading *loading = context;
	const struct geometry *geometry = &loading->files->image->geometry;
	struct replay_file *file = loading->file;
	const struct traced_run traced = {
		.start = block,
		.count = count,
		.file = file,
		.is_data = is_data,
		.place = is_data ? logical : block,
	};
	const struct file_run run = { .logical = logical, .count = count, .physical = block };
	uint32_t hole_start, hole_end = UINT32_MAX;

	/* A damaged filesystem may have impossible values, which are ignored. */
	if (block < geometry->first_block || block >= geometry->end_block || count > geometry->end_block - block ||
	    traced_blocks_find(&loading->files->blocks, block, count) ||
	    (is_data && !file_runs_hole(&file->runs, logical, &hole_start, &hole_end)) || count > hole_end - logical)
		return 0;
	errcode_t error = traced_blocks_add(&loading->files->blocks, &traced);

	if (error)
		return error;
	file->references += count;
	if (is_data)
		return file_runs_add(&file->runs, &run);
	file->other_blocks += count;
	return 0;
}

/* Whole clusters belong to a file. If runs share a cluster, the first run has loaded it. */
static errcode_t load_run(void *context, uint32_t logical, uint64_t block, uint32_t count, bool is_data)
{
	const struct loading *loading = context;
	const struct geometry *geometry = &loading->files->image->geometry;
	uint32_t cluster = (uint32_t)geometry_cluster_blocks(geometry), hole_start, hole_end;
	uint32_t before = (uint32_t)((block - geometry->first_block) % cluster);

	if (cluster == 1)
		return load_clusters(context, logical, block, count, is_data);
	if (is_data && logical % cluster != before)
		return 0;
	count = (count + before + cluster - 1) / cluster * cluster;
	block -= before;
	logical -= is_data ? before : 0;
	if (is_data && !file_runs_hole(&loading->file->runs, logical, &hole_start, &hole_end)) {
		block += cluster;
		logical += cluster;
		count -= cluster;
	}
	return count ? load_clusters(context, logical, block, count, is_data) : 0;
}

errcode_t replay_files_find(struct replay_files *files, uint32_t ino, struct replay_file **ret)
{
	*ret = NULL;
	if (!is_possible(files, ino))
		return 0;
	*ret = replay_files_look_up(files, ino);
	if (*ret)
		return 0;
	errcode_t error = add_file(files, ino, ret);
	struct loading loading = { files, *ret };

	if (!error && ask_image(files, ino))
		error = image_read_file(files->image, ino, &(*ret)->mode, load_run, &loading);
	if (!error && !(*ret)->mode)
		files->contradictions.unknown_files++;
	return error;
}

static errcode_t ignore_run(void *context UNUSED, uint32_t logical UNUSED, uint64_t block UNUSED, uint32_t count UNUSED,
                            bool is_data UNUSED)
{
	return 0;
}

errcode_t replay_files_create(struct replay_files *files, uint32_t ino, struct replay_file **ret)
{
	uint32_t mode = 0;
	errcode_t error = 0;

	*ret = NULL;
	if (!is_possible(files, ino))
		return 0;
	if (ask_image(files, ino))
		error = image_read_file(files->image, ino, &mode, ignore_run, NULL);
	if (mode)
		files->contradictions.made_twice++;
	return error ? error : add_file(files, ino, ret);
}

/* --- The end of files ---------------------------------------------------------------------------------------- */

static void free_file(struct replay_file *file)
{
	LIST_REMOVE(file, all);
	free(file->runs.list);
	free(file);
}

void replay_files_delete(struct replay_files *files, struct replay_file *file)
{
	ask_image(files, file->ino);
	tdelete(file, &files->tree, by_ino);
	file->is_deleted = true;
	if (!file->references)
		free_file(file);
}

void replay_files_release(struct replay_file *file, uint64_t blocks)
{
	file->references -= blocks;
	if (!file->references && file->is_deleted)
		free_file(file);
}

struct showing {
	void (*show)(const struct replay_file *file, void *context);
	void *context;
};

static void show_node(const void *node, VISIT visit, void *context)
{
	const struct showing *showing = context;

	if (visit == postorder || visit == leaf)
		showing->show(*(const struct replay_file *const *)node, showing->context);
}

void replay_files_each(const struct replay_files *files, void (*show)(const struct replay_file *file, void *context),
                       void *context)
{
	struct showing showing = { show, context };

	twalk_r(files->tree, show_node, &showing);
}

static void forget(void *node UNUSED)
{
}

void replay_files_close(struct replay_files *files)
{
	tdestroy(files->tree, forget);
	while (!LIST_EMPTY(&files->all))
		free_file(LIST_FIRST(&files->all));
	free(files->known);
	traced_blocks_clear(&files->blocks);
}
