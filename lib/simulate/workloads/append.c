// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fio job of the series (ioengine=falloc, rw=write, bs=4k, numjobs=64, size=1G, file_append=1): streams that append
 * to files of their own in one directory.
 */
#include <errno.h>

#include "simulate/image/inode_buffers.h"
#include "simulate/results/allocator_values.h"
#include "simulate/results/layout_values.h"
#include "simulate/streams/streams.h"

enum { STREAMS, FILE_SIZE, APPEND_SIZE, WRITTEN, INODES };
enum inode_changes { WITH_THREADS, ALWAYS, NEVER };

static const struct workload_option append_options[] = {
	[STREAMS] = { "streams", "N", SETTING_NUMBER, 64, 1, 65536, "how many files grow side by side" },
	[FILE_SIZE] = { "file-size", "SIZE", SETTING_BYTES, 1ull << 30, 1, 1ull << 44, "of each file in the end" },
	[APPEND_SIZE] = { "append-size", "SIZE", SETTING_BYTES, 4096, 1, 1ull << 40, "of each append" },
	[WRITTEN] = { "written", NULL, SETTING_FLAG, 0, 0, 1,
	              "by write(2); else by fallocate(2), as the fio job does" },
	[INODES] = { "inodes", "threads|always|never", SETTING_CHOICE, WITH_THREADS, 0, 0,
	             "when each append changes its inode, as in Linux" },
	{ 0 },
};

struct append {
	const struct image *image;
	struct file_set *set;
	struct ext2mb_file **handles; /* one for each stream */
	uint32_t file_blocks, step_blocks;
	uint32_t flags;
};

/*
 * With what Linux does to the inode around the search for blocks. It is outside of the group's lock, so it decides how
 * often two threads meet there: without it nearly all of an append is inside, and who finds a group busy goes elsewhere
 * far more often than in Linux.
 */
static errcode_t append_with_inode(const struct append *append, struct ext2mb_worker *worker, unsigned int stream,
                                   uint32_t end)
{
	struct simulated_file *file = &append->set->files[stream];
	struct buffered_inode *inode = &append->set->buffers->inodes[stream];
	errcode_t error = inode_buffers_mark_dirty(append->image, file, inode); /* dquot_alloc_block() */

	if (!error)
		error = simulated_file_append(file, worker, append->handles[stream], end, append->flags);
	if (!error)
		error = inode_buffers_mark_extents(append->image, file, inode); /* ext4_ext_insert_extent() */
	if (error)
		return error;
	inode_buffers_touch(inode);
	inode->value.size_bytes = (uint64_t)end * append->image->format.block_bytes;
	return inode_buffers_mark_dirty(append->image, file, inode); /* ext4_alloc_file_blocks() */
}

static errcode_t append_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	const struct append *append = context;
	struct simulated_file *file = &append->set->files[stream];
	uint32_t end = append->file_blocks - file->blocks > append->step_blocks ? file->blocks + append->step_blocks :
	                                                                          append->file_blocks;

	errcode_t error = append->set->buffers ? append_with_inode(append, worker, stream, end) :
	                                         simulated_file_append(file, worker, append->handles[stream], end,
	                                                               append->flags);

	if (error)
		return error;
	*is_over = end == append->file_blocks;
	/* As the last one to close it: what it did not use goes back, before others have ended. */
	if (*is_over)
		ext2mb_file_close(worker, TAKE(append->handles[stream]));
	return 0;
}

static bool changes_inodes(const struct simulation *simulation)
{
	uint64_t when = simulation->settings[INODES].number;

	return when == ALWAYS || (when == WITH_THREADS && simulation->threads);
}

static errcode_t open_files(struct simulation *simulation, struct append *append)
{
	struct image *image = simulation->image;
	errcode_t error = file_set_take_inodes(append->set, image->worker);

	if (!error && changes_inodes(simulation))
		error = inode_buffers_open(image, append->set);
	for (size_t index = 0; !error && index < append->set->count; index++) {
		struct simulated_file *file = &append->set->files[index];

		file->is_unwritten = append->flags & EXT2MB_FILE_UNWRITTEN;
		error = simulated_file_open(append->set, file, 0, image->worker, &append->handles[index]);
	}
	return error ? problem_set(simulation->problem, error, image->path, "cannot make files") : 0;
}

static void add_rates(struct simulation *simulation, double bytes, const struct streams_cost *cost)
{
	const struct result_value values[] = {
		{ NULL, "bandwidth_mib", "bw (MiB/s), metadata only", RESULT_MEASURED,
		  bytes / (1 << 20) / cost->seconds, 0 },
		{ NULL, "seconds", "Seconds", RESULT_MEASURED, cost->seconds, 2 },
		{ NULL, "processor_seconds", "Seconds of processor time", RESULT_MEASURED, cost->processor_seconds, 2 },
	};

	result_add(simulation->result, values, sizeof(values) / sizeof(*values));
}

static errcode_t append_run(struct simulation *simulation)
{
	const struct setting *settings = simulation->settings;
	struct image *image = simulation->image;
	unsigned int streams = (unsigned int)settings[STREAMS].number;
	uint32_t block_bytes = image->format.block_bytes;
	uint64_t file_blocks = (settings[FILE_SIZE].number + block_bytes - 1) / block_bytes;
	uint64_t step_blocks = (settings[APPEND_SIZE].number + block_bytes - 1) / block_bytes;
	SCOPE_FREE struct ext2mb_file **handles = calloc(streams, sizeof(struct ext2mb_file *));
	struct append append = {
		.image = image,
		.handles = handles,
		.file_blocks = (uint32_t)file_blocks,
		.step_blocks = (uint32_t)(step_blocks < file_blocks ? step_blocks : file_blocks),
		.flags = image->format.extents && !settings[WRITTEN].number ? EXT2MB_FILE_UNWRITTEN : 0,
	};
	struct streams_cost cost;

	if (file_blocks >= UINT32_MAX)
		return problem_set(simulation->problem, EFBIG, image->path, "cannot make files");
	errcode_t error = handles ? file_set_create(image, NULL, image->directory, streams, &append.set) : ENOMEM;
	if (error)
		return problem_set(simulation->problem, error, image->path, "cannot make files");
	error = open_files(simulation, &append);
	progress_stage(simulation->progress, "append", streams * file_blocks * block_bytes, 0);
	if (!error)
		error = streams_run(simulation, streams, append_step, &append,
		                    (uint64_t)append.step_blocks * block_bytes, "cannot append", &cost);
	for (unsigned int stream = 0; stream < streams; stream++)
		ext2mb_file_close(image->worker, handles[stream]);
	if (error)
		return error;
	add_rates(simulation, (double)streams * (double)file_blocks * block_bytes, &cost);
	return allocator_values_add(simulation, NULL, &cost);
}

static errcode_t append_measure(struct simulation *simulation)
{
	return layout_values_add(simulation, NULL, simulation->image->files);
}

const struct workload append_workload = {
	.name = "append",
	.summary = "streams that append to large files side by side (the fio job of the series)",
	.options = append_options,
	.run = append_run,
	.measure = append_measure,
};
