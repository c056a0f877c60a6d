// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bruce Guenter's case of 2008: an archive of small files in random order is extracted, then the directories are
 * deleted one after the other. Deleting was several times slower on ext4 than on ext3, because ext4 wrote the same
 * bitmaps again and again: its windows by processor had spread the files of a directory over many groups.
 */
#include <errno.h>
#include <pthread.h>

#include "simulate/image/dirty_blocks.h"
#include "simulate/image/random.h"
#include "simulate/results/layout_values.h"
#include "simulate/streams/streams.h"
#include "simulate/workloads/deletion.h"

enum { FILES, DIRECTORIES, STREAMS, LATE, BATCH, ORDER, KEEP };

static const struct workload_option unlink_options[] = {
	[FILES] = { "files", "N", SETTING_NUMBER, 100000, 1, 10000000, "how many small files" },
	[DIRECTORIES] = { "directories", "N", SETTING_NUMBER, 1000, 1, 1000000, "that they are spread over evenly" },
	[STREAMS] = { "streams", "N", SETTING_NUMBER, 4, 1, 1024, "how many extract at the same time" },
	[LATE] = { "late", NULL, SETTING_FLAG, 0, 0, 1, "make directories when their first files come" },
	[BATCH] = { "batch", "N", SETTING_NUMBER, 5000, 1, 1000000000, "deletions between two commits" },
	[ORDER] = { "order", DELETION_ORDERS, SETTING_CHOICE, DELETION_BY_INODE, 0, 0, "of the directories' deletion" },
	[KEEP] = { "keep", NULL, SETTING_FLAG, 0, 0, 1, "do not delete the files after all" },
	{ 0 },
};

#define SINGLE_BLOCK_PERCENT 85
#define MOST_BLOCKS 8 /* of the others */

struct unlink_job {
	struct simulation *simulation;
	struct file_set **directories;
	uint32_t directory_count;
	uint32_t *order;       /* of all files, in which they are extracted */
	uint32_t *next, *ends; /* by stream: its part of the order that is left */
	uint32_t files;
	pthread_mutex_t making; /* a directory that is made with its first file */
};

static struct simulated_file *file_at(const struct unlink_job *job, uint32_t number, struct file_set **set)
{
	*set = job->directories[number % job->directory_count];
	return &(*set)->files[number / job->directory_count];
}

/* The same for a file whenever and by whomever it is extracted. */
static uint32_t blocks_of(const struct unlink_job *job, uint32_t number)
{
	uint64_t random = job->simulation->seed ^ (uint64_t)number << 32;

	if (random_below(&random, 100) < SINGLE_BLOCK_PERCENT)
		return 1;
	return 2 + random_below(&random, MOST_BLOCKS - 1);
}

/* Windows off: each file as near to its inode's group as can be, as ext3 does it. */
static errcode_t extract_near(const struct unlink_job *job, struct ext2mb_worker *worker, struct simulated_file *file,
                              uint32_t blocks)
{
	const struct image *image = job->simulation->image;
	uint64_t goal = image_group_start(image, (file->ino - 1) / image->inodes_per_group);

	while (file->blocks < blocks) {
		const struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                                .goal = goal,
			                                .count = blocks - file->blocks };
		struct ext2mb_extent extent;
		errcode_t error = ext2mb_alloc(worker, &request, &extent);

		if (!error)
			error = simulated_file_grow(file, &extent);
		if (error)
			return error;
		goal = extent.start + extent.count;
	}
	return 0;
}

static errcode_t extract_in_windows(const struct file_set *set, struct ext2mb_worker *worker,
                                    struct simulated_file *file, uint32_t blocks)
{
	struct ext2mb_file *handle;
	errcode_t error = simulated_file_open(set, file, blocks, worker, &handle);

	if (error)
		return error;
	error = simulated_file_append(file, worker, handle, blocks, 0);
	ext2mb_file_close(worker, handle);
	return error;
}

/* Unless there is one already: which thread comes first makes it. */
static errcode_t make_late(struct unlink_job *job, struct file_set *set, struct ext2mb_worker *worker)
{
	errcode_t error = 0;

	pthread_mutex_lock(&job->making);
	if (!set->directory.ino)
		error = file_set_take_directory(set, worker);
	pthread_mutex_unlock(&job->making);
	return error;
}

static errcode_t extract_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct unlink_job *job = context;
	struct file_set *set;

	if (job->next[stream] == job->ends[stream]) {
		*is_over = true;
		return 0;
	}
	uint32_t number = job->order[job->next[stream]++];
	struct simulated_file *file = file_at(job, number, &set);
	uint32_t blocks = blocks_of(job, number);
	errcode_t error = job->simulation->settings[LATE].number ? make_late(job, set, worker) : 0;

	if (!error)
		error = file_set_take_inode(set, number / job->directory_count, worker);
	if (error)
		return error;
	if (job->simulation->options->allocator.locality == EXT2MB_LOCALITY_NONE)
		return extract_near(job, worker, file, blocks);
	return extract_in_windows(set, worker, file, blocks);
}

static void shuffle(struct unlink_job *job, uint64_t seed)
{
	for (uint32_t file = 0; file < job->files; file++)
		job->order[file] = file;
	for (uint32_t left = job->files; left > 1; left--) {
		uint32_t other = random_below(&seed, left);
		uint32_t last = job->order[left - 1];

		job->order[left - 1] = job->order[other];
		job->order[other] = last;
	}
}

static errcode_t make_directories(struct unlink_job *job)
{
	struct image *image = job->simulation->image;
	struct file_set *top;
	errcode_t error = file_set_create(image, NULL, image->directory, 0, &top);
	for (uint32_t number = 0; !error && number < job->directory_count; number++) {
		size_t count = job->files / job->directory_count + (number < job->files % job->directory_count);
		char name[16];

		snprintf(name, sizeof(name), "d%07u", number);
		error = file_set_prepare(image, top, name, count, &job->directories[number]);
		if (!error && !job->simulation->settings[LATE].number)
			error = file_set_take_directory(job->directories[number], image->worker);
	}
	return error;
}

static errcode_t prepare(struct unlink_job *job, unsigned int streams)
{
	const struct setting *settings = job->simulation->settings;
	job->files = (uint32_t)settings[FILES].number;
	job->directory_count = (uint32_t)settings[DIRECTORIES].number;
	job->directories = calloc(job->directory_count, sizeof(struct file_set *));
	job->order = calloc(job->files, sizeof(*job->order));
	job->next = calloc(streams, sizeof(*job->next));
	job->ends = calloc(streams, sizeof(*job->ends));
	if (!job->directories || !job->order || !job->next || !job->ends)
		return ENOMEM;
	for (unsigned int stream = 0; stream < streams; stream++) {
		job->next[stream] = (uint32_t)((uint64_t)job->files * stream / streams);
		job->ends[stream] = (uint32_t)((uint64_t)job->files * (stream + 1) / streams);
	}
	shuffle(job, job->simulation->seed);
	return make_directories(job);
}

/* Block bitmaps that hold the blocks of a directory's files, on average. */
static errcode_t bitmaps_per_directory(const struct unlink_job *job, double *ret)
{
	const struct image *image = job->simulation->image;
	struct dirty_blocks seen;
	errcode_t error = dirty_blocks_open(&seen, image->group_count);

	if (error)
		return problem_set(job->simulation->problem, error, image->path, "cannot count bitmaps");
	for (uint32_t number = 0; number < job->directory_count; number++) {
		const struct file_set *set = job->directories[number];

		for (size_t index = 0; index < set->count; index++)
			for (size_t extent = 0; extent < set->files[index].extent_count; extent++)
				dirty_blocks_mark(&seen,
				                  image_block_group(image, set->files[index].extents[extent].physical),
				                  number + 1);
	}
	*ret = (double)seen.writes / job->directory_count;
	dirty_blocks_close(&seen);
	return 0;
}

static errcode_t delete_all(struct unlink_job *job)
{
	struct simulation *simulation = job->simulation;
	const struct setting *settings = simulation->settings;
	struct deletion deletion = {
		.image = simulation->image,
		.directories = job->directories,
		.directory_count = job->directory_count,
		.batch_files = (uint32_t)settings[BATCH].number,
		.order = (enum deletion_order)settings[ORDER].number,
	};
	errcode_t error = deletion_run(&deletion);

	if (error)
		error = problem_set(simulation->problem, error, simulation->image->path, "cannot delete");
	else
		deletion_add_values(&deletion, simulation->result);
	deletion_close(&deletion);
	return error;
}

/* Those that got no file. */
static errcode_t make_rest(struct unlink_job *job)
{
	struct simulation *simulation = job->simulation;
	errcode_t error = 0;

	for (uint32_t number = 0; !error && number < job->directory_count; number++)
		error = make_late(job, job->directories[number], simulation->image->worker);
	return error ? problem_set(simulation->problem, error, simulation->image->path, "cannot make directories") : 0;
}

static errcode_t run_job(struct unlink_job *job, unsigned int streams)
{
	struct simulation *simulation = job->simulation;
	struct streams_cost cost;
	double bitmaps = 0;
	errcode_t error = prepare(job, streams);

	if (error)
		return problem_set(simulation->problem, error, simulation->image->path, "cannot make directories");
	progress_stage(simulation->progress, "extract", 0, job->files);
	error = streams_run(simulation, streams, extract_step, job, STREAMS_STEP_IS_FILE, "cannot extract",
	                    &cost);
	if (!error)
		error = make_rest(job);
	if (!error)
		error = bitmaps_per_directory(job, &bitmaps);
	if (error)
		return error;
	const struct result_value values[] = {
		{ NULL, "extract_seconds", "Seconds to extract", RESULT_MEASURED, cost.seconds, 2 },
		{ NULL, "bitmaps_per_directory", "Block bitmaps of a directory's files", RESULT_LAYOUT, bitmaps, 1 },
	};

	result_add(simulation->result, values, 2);
	if (simulation->settings[KEEP].number)
		return 0;
	return delete_all(job);
}

static errcode_t unlink_run(struct simulation *simulation)
{
	struct unlink_job job = { .simulation = simulation };

	pthread_mutex_init(&job.making, NULL);
	errcode_t error = run_job(&job, (unsigned int)simulation->settings[STREAMS].number);

	pthread_mutex_destroy(&job.making);
	free(job.directories);
	free(job.order);
	free(job.next);
	free(job.ends);
	return error;
}

static errcode_t unlink_measure(struct simulation *simulation)
{
	return simulation->settings[KEEP].number ? layout_values_add(simulation, NULL, simulation->image->files) : 0;
}

const struct workload unlink_workload = {
	.name = "unlink",
	.summary = "small files in random order, then deleted directory by directory (the case of 2008)",
	.options = unlink_options,
	.run = unlink_run,
	.measure = unlink_measure,
};
