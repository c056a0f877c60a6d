// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * will-it-scale's fallocate2: each container appends 8 KiB at a time to a file of its own until it is 1 MiB long and
 * truncates it to nothing, for ever.
 */
#include <errno.h>
#include <stdatomic.h>

#include "simulate/results/allocator_values.h"
#include "simulate/streams/streams.h"
#include "support/seconds.h"

enum { CONTAINERS, SECONDS, ROUNDS, FILE_SIZE, APPEND_SIZE, WRITTEN };

static const struct workload_option fallocate2_options[] = {
	[CONTAINERS] = { "containers", "N", SETTING_NUMBER, 0, 0, 65536, "how many files; 0: one for each thread" },
	[SECONDS] = { "seconds", "N", SETTING_NUMBER, 1, 1, 86400, "how long" },
	[ROUNDS] = { "rounds", "N", SETTING_NUMBER, 0, 0, UINT32_MAX,
	             "so many truncations each, however long; 0: as --seconds says" },
	[FILE_SIZE] = { "file-size", "SIZE", SETTING_BYTES, 1 << 20, 1, 1ull << 40, "when a file is truncated" },
	[APPEND_SIZE] = { "append-size", "SIZE", SETTING_BYTES, 8 << 10, 1, 1ull << 40, "of each append" },
	[WRITTEN] = { "written", NULL, SETTING_FLAG, 0, 0, 1, "by write(2) instead of fallocate(2)" },
	{ 0 },
};

/* The journal commits every 5 seconds; here it is what fills up: so many truncations of one container. */
#define ROUNDS_PER_COMMIT 64

struct container {
	_Alignas(128) struct ext2mb_file *handle;
	uint64_t appends;
	uint64_t rounds;
};

struct fallocate2 {
	struct simulation *simulation;
	struct file_set *set;
	struct container *containers;
	uint32_t file_blocks, step_blocks;
	uint32_t flags;
	uint64_t rounds; /* 0: until the deadline */
	double seconds;
	_Atomic double deadline; /* 0: no container has finished a round yet */
};

/*
 * The time runs from when the first one has been through a round: 64 threads that are only being made take a while on a
 * busy machine, and had no time left then.
 */
static bool is_late(struct fallocate2 *job)
{
	double none = 0, time = seconds_of(CLOCK_MONOTONIC);

	if (!atomic_load_explicit(&job->deadline, memory_order_relaxed))
		atomic_compare_exchange_strong(&job->deadline, &none, time + job->seconds);
	return time >= atomic_load_explicit(&job->deadline, memory_order_relaxed);
}

static errcode_t append_once(const struct fallocate2 *job, struct container *container, struct simulated_file *file,
                             struct ext2mb_worker *worker)
{
	uint32_t left = job->file_blocks - file->blocks;
	uint32_t end = file->blocks + (left < job->step_blocks ? left : job->step_blocks);

	container->appends++;
	return simulated_file_append(file, worker, container->handle, end, job->flags);
}

static errcode_t truncate_file(struct fallocate2 *job, struct container *container, struct simulated_file *file,
                               struct ext2mb_worker *worker, bool *is_over)
{
	errcode_t error;

	ext2mb_file_truncate(worker, container->handle, 0);
	error = simulated_file_truncate(file, worker);
	if (!error && ++container->rounds % ROUNDS_PER_COMMIT == 0)
		error = ext2mb_commit(job->simulation->image->mb);
	*is_over = job->rounds ? container->rounds == job->rounds : is_late(job);
	return error;
}

/* Taking turns, a step is one call; threads that share nothing need not be asked so often. */
static errcode_t fallocate2_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct fallocate2 *job = context;
	struct container *container = &job->containers[stream];
	struct simulated_file *file = &job->set->files[stream];
	bool takes_turns = !job->simulation->threads;

	do {
		if (file->blocks == job->file_blocks)
			return truncate_file(job, container, file, worker, is_over);
		errcode_t error = append_once(job, container, file, worker);

		if (error)
			return error;
	} while (!takes_turns);
	return 0;
}

static errcode_t open_files(struct fallocate2 *job)
{
	struct image *image = job->simulation->image;
	errcode_t error = file_set_take_inodes(job->set, image->worker);

	for (size_t index = 0; !error && index < job->set->count; index++) {
		struct simulated_file *file = &job->set->files[index];

		file->is_unwritten = job->flags & EXT2MB_FILE_UNWRITTEN;
		error = simulated_file_open(job->set, file, 0, image->worker, &job->containers[index].handle);
	}
	return error;
}

static void add_rates(const struct fallocate2 *job, const struct streams_cost *cost)
{
	uint64_t appends = 0, fewest = UINT64_MAX;
	double count = (double)job->set->count;

	for (size_t index = 0; index < job->set->count; index++) {
		appends += job->containers[index].appends;
		if (job->containers[index].appends < fewest)
			fewest = job->containers[index].appends;
	}
	double all = (double)appends;
	const struct result_value values[] = {
		{ NULL, "ops_per_container", "Appends per container and second", RESULT_MEASURED,
		  all / count / cost->seconds, 0 },
		{ NULL, "ops", "Appends per second", RESULT_MEASURED, all / cost->seconds, 0 },
		{ NULL, "processor_ns", "Nanoseconds of processor time each", RESULT_MEASURED,
		  1e9 * cost->processor_seconds / all, 1 },
		{ NULL, "fairness", "Slowest one's part of the average", RESULT_MEASURED, (double)fewest * count / all,
		  2 },
		{ NULL, "appends", "Appends", RESULT_COUNTED, all, 0 },
		{ NULL, "waits_per_thousand", "Waits for a lock, of 1000 appends", RESULT_COUNTED,
		  1000 * (double)cost->lock_waits / all, 3 },
	};

	result_add(job->simulation->result, values, sizeof(values) / sizeof(*values));
}

static errcode_t prepare(struct simulation *simulation, struct fallocate2 *job)
{
	const struct setting *settings = simulation->settings;
	struct image *image = simulation->image;
	uint32_t block_bytes = image->format.block_bytes;
	unsigned int threads = simulation->threads ? simulation->threads : 1;
	unsigned int count = settings[CONTAINERS].number ? (unsigned int)settings[CONTAINERS].number : threads;
	uint64_t file_blocks = (settings[FILE_SIZE].number + block_bytes - 1) / block_bytes;
	uint64_t step_blocks = (settings[APPEND_SIZE].number + block_bytes - 1) / block_bytes;

	if (file_blocks >= UINT32_MAX)
		return EFBIG;
	*job = (struct fallocate2){
		.simulation = simulation,
		.containers = aligned_alloc(_Alignof(struct container), count * sizeof(*job->containers)),
		.file_blocks = (uint32_t)file_blocks,
		.step_blocks = (uint32_t)(step_blocks < file_blocks ? step_blocks : file_blocks),
		.flags = image->format.extents && !settings[WRITTEN].number ? EXT2MB_FILE_UNWRITTEN : 0,
		.rounds = settings[ROUNDS].number,
		.seconds = (double)settings[SECONDS].number,
	};
	if (!job->containers)
		return ENOMEM;
	for (unsigned int index = 0; index < count; index++)
		job->containers[index] = (struct container){ 0 };
	errcode_t error = file_set_create(image, NULL, image->directory, count, &job->set);

	return error ? error : open_files(job);
}

static errcode_t fallocate2_run(struct simulation *simulation)
{
	struct image *image = simulation->image;
	struct fallocate2 job = { 0 };
	struct streams_cost cost;
	errcode_t error = prepare(simulation, &job);

	if (error) {
		problem_set(simulation->problem, error, image->path, "cannot make files");
	} else {
		progress_stage(simulation->progress, "fallocate2", 0, 0);
		error = streams_run(simulation, (unsigned int)job.set->count, fallocate2_step, &job, 0,
		                    "cannot append or truncate", &cost);
	}
	for (size_t index = 0; job.containers && job.set && index < job.set->count; index++)
		ext2mb_file_close(image->worker, job.containers[index].handle);
	if (!error) {
		add_rates(&job, &cost);
		error = allocator_values_add(simulation, NULL, &cost);
	}
	free(job.containers);
	return error;
}

const struct workload fallocate2_workload = {
	.name = "fallocate2",
	.summary = "files that grow by 8 KiB to 1 MiB and are truncated (will-it-scale's loop)",
	.row = "ops_per_container",
	.options = fallocate2_options,
	.run = fallocate2_run,
};
