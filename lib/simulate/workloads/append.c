/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams that append to files of their own in one directory.
 *
 * append is the fio job of the series (ioengine=falloc, rw=write, bs=4k, numjobs=64, size=1G, file_append=1).
 * fallocate2 is will-it-scale's: each container appends 8 KiB at a time to its own file until it is 1 MiB long,
 * truncates it to 0, and repeats that.
 */
#include <errno.h>
#include <stdatomic.h>

#include "simulate/image/inode_buffers.h"
#include "simulate/results/counted_values.h"
#include "support/seconds.h"

struct container {
	_Alignas(128) uint64_t appends; /* of fallocate2 */
	uint64_t rounds;
	bool is_shrinking; /* amid a truncation, with a modelled machine */
};

struct job {
	struct simulation *simulation;
	struct file_set *set;
	struct container *containers; /* one for each file and stream */
	uint32_t file_blocks, step_blocks;
	uint32_t flags;
	bool grows_maps; /* allocates a map's blocks when they are needed */
	bool is_closed;  /* the files' final sizes are known when they get their blocks */

	/* Members of fallocate2. */
	uint64_t rounds; /* 0: until the deadline */
	double seconds;
	_Atomic double deadline; /* 0: no container has finished a round yet */
	double next_commit;      /* with a modelled machine */
};

/* Returns UINT32_MAX, which is more than a file can have, for larger sizes. */
static uint32_t blocks_of(const struct simulation *simulation, uint64_t bytes)
{
	uint64_t blocks = image_blocks_of(simulation->image, bytes);

	return blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

static errcode_t open_files(struct job *job, bool changes_inodes)
{
	struct image *image = job->simulation->image;
	errcode_t error = file_set_alloc_inodes(job->set, image->worker);

	if (!error && changes_inodes)
		error = inode_buffers_open(image, job->set);
	for (size_t index = 0; !error && index < job->set->count; index++) {
		struct simulated_file *file = &job->set->files[index];

		file->map.is_unwritten = job->flags & EXT2MB_FILE_UNWRITTEN;
		error = simulated_file_open(job->set, file, job->is_closed ? job->file_blocks : 0, image->worker);
	}
	return error;
}

/* Makes count files. The caller calls close_files() in any case. */
static errcode_t make_files(struct job *job, size_t count, bool is_written, bool changes_inodes)
{
	struct image *image = job->simulation->image;
	errcode_t error = job->file_blocks < UINT32_MAX ? 0 : EFBIG;

	if (job->step_blocks > job->file_blocks)
		job->step_blocks = job->file_blocks;
	job->flags = image->format.extents && !is_written ? EXT2MB_FILE_UNWRITTEN : 0;
	job->containers = aligned_alloc(_Alignof(struct container), count * sizeof(*job->containers));
	if (!error && !job->containers)
		error = ENOMEM;
	for (size_t index = 0; !error && index < count; index++)
		job->containers[index] = (struct container){ 0 };
	if (!error)
		error = file_set_create(image, NULL, image->directory, count, &job->set);
	if (!error)
		error = open_files(job, changes_inodes);
	return error ? problem_set(job->simulation->problem, error, image->path, "cannot make files") : 0;
}

static void close_files(struct job *job)
{
	for (size_t index = 0; job->set && index < job->set->count; index++)
		simulated_file_close(&job->set->files[index], job->simulation->image->worker);
	free(job->containers);
}

/* The size of the file after the next append. */
static uint32_t next_end(const struct job *job, const struct simulated_file *file)
{
	uint32_t left = job->file_blocks - file->blocks;

	return file->blocks + (left < job->step_blocks ? left : job->step_blocks);
}

/* --- append ------------------------------------------------------------------------------------------------- */

enum { STREAMS, APPEND_FILE_SIZE, APPEND_STEP, APPEND_WRITTEN, APPEND_CLOSED, INODES, TURNS };
enum turns { RANDOM, IN_ORDER };
enum inode_changes { WITH_THREADS, ALWAYS, NEVER };

static const struct workload_option append_options[] = {
	[STREAMS] = { "streams", "N", SETTING_NUMBER, 64, 1, 65536, "how many files grow side by side" },
	[APPEND_FILE_SIZE] = { "file-size", "SIZE", SETTING_BYTES, 1ull << 30, 1, 1ull << 44,
	                       "of each file in the end" },
	[APPEND_STEP] = { "append-size", "SIZE", SETTING_BYTES, 4096, 1, 1ull << 40, "of each append" },
	[APPEND_WRITTEN] = { "written", NULL, SETTING_FLAG, 0, 0, 1,
	                     "by write(2); else by fallocate(2), as the fio job does" },
	[APPEND_CLOSED] = { "closed", NULL, SETTING_FLAG, 0, 0, 1,
	                    "each is written and closed before it gets its blocks, file by file: buffered writes" },
	[INODES] = { "inodes", "threads|always|never", SETTING_CHOICE, WITH_THREADS, 0, 0,
	             "when each append changes its inode, as in Linux" },
	[TURNS] = { "turns", "random|in-order", SETTING_CHOICE, RANDOM, 0, 0,
	            "without threads: whose turn it is; in-order: as one process does it, on one CPU" },
	{ 0 },
};

/*
 * Appends with Linux's changes to the inode around the search for blocks. They are outside of the group's lock, so
 * they decide how often two threads contend for it: without them nearly all of an append is under the lock, and
 * threads find groups busy far more often than in Linux.
 */
static errcode_t append_with_inode(const struct job *job, struct ext2mb_worker *worker, unsigned int stream,
                                   uint32_t end)
{
	const struct image *image = job->simulation->image;
	struct simulated_file *file = &job->set->files[stream];
	struct buffered_inode *inode = &job->set->buffers->inodes[stream];
	errcode_t error = inode_buffers_mark_dirty(image, file, inode); /* dquot_alloc_block() */

	if (!error)
		error = simulated_file_append(NULL, file, worker, end, job->flags);
	if (!error)
		error = inode_buffers_mark_extents(image, file, inode); /* ext4_ext_insert_extent() */
	if (error)
		return error;
	inode_buffers_touch(inode);
	inode->value.size_bytes = (uint64_t)end * image->format.block_bytes;
	return inode_buffers_mark_dirty(image, file, inode); /* ext4_alloc_file_blocks() */
}

static errcode_t append_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	const struct job *job = context;
	struct simulated_file *file = &job->set->files[stream];
	struct image *image = job->grows_maps ? job->simulation->image : NULL;
	uint32_t end = job->is_closed ? job->file_blocks : next_end(job, file);
	errcode_t error = job->is_closed              ? simulated_file_write_back(image, file, worker, end) :
	                  !image && job->set->buffers ? append_with_inode(job, worker, stream, end) :
	                                                simulated_file_append(image, file, worker, end, job->flags);

	*is_over = end == job->file_blocks;
	/* Closes the file: unused preallocations are discarded before other streams end. */
	if (!error && *is_over)
		simulated_file_close(file, worker);
	return error;
}

static errcode_t append_run(struct simulation *simulation)
{
	const struct setting *settings = simulation->settings;

	simulation->is_one_process = settings[TURNS].number == IN_ORDER && !simulation->threads;

	uint64_t inodes = settings[INODES].number;
	unsigned int streams = (unsigned int)settings[STREAMS].number;
	uint64_t block_bytes = simulation->image->format.block_bytes;
	struct job job = {
		.simulation = simulation,
		.file_blocks = blocks_of(simulation, settings[APPEND_FILE_SIZE].number),
		.step_blocks = blocks_of(simulation, settings[APPEND_STEP].number),
		.grows_maps = simulation->is_one_process && simulation->configuration->options.policy != POLICY_EXT2MB,
		.is_closed = settings[APPEND_CLOSED].number,
	};
	uint64_t bytes = (uint64_t)streams * job.file_blocks * block_bytes;
	struct streams_cost cost;

	simulation->asked_bytes = bytes;
	errcode_t error = make_files(&job, streams, settings[APPEND_WRITTEN].number || job.is_closed,
	                             inodes == ALWAYS || (inodes == WITH_THREADS && simulation->threads));

	progress_stage(simulation->options->progress, "append", bytes, 0);
	if (!error)
		error = streams_run(simulation, streams, append_step, &job, job.step_blocks * block_bytes,
		                    "cannot append", &cost);
	close_files(&job);
	if (error)
		return error;
	if (simulation->options->machine)
		result_add(simulation->result, NULL, RESULT_MODELLED,
		           (const struct named_value[]){
				   { "modelled_bandwidth_mib", "bw (MiB/s)",
		                     (double)bytes / (1 << 20) / cost.modelled.seconds, 0 },
				   { "modelled_seconds", "Seconds there", cost.modelled.seconds, 2 },
				   { "waited_percent", "Of the processors' time: waits (%)",
		                     100 * cost.modelled.waited_share, 1 },
				   { "limited_percent", "Kept idle by the CPU limit (%)",
		                     100 * cost.modelled.limited_share, 1 },
				   { 0 },
			   });
	result_add(
		simulation->result, NULL, RESULT_MEASURED,
		(const struct named_value[]){
			{ "bandwidth_mib", "bw (MiB/s), metadata only", (double)bytes / (1 << 20) / cost.seconds, 0 },
			{ "seconds", "Seconds", cost.seconds, 2 },
			{ "processor_seconds", "Seconds of processor time", cost.processor_seconds, 2 },
			{ 0 },
		});
	return allocator_values_add(simulation, &cost);
}

static errcode_t append_measure(struct simulation *simulation)
{
	return layout_values_add(simulation, NULL, simulation->image->files);
}

const struct workload append_workload = {
	.name = "append",
	.summary = "streams that append to large files side by side (the fio job of the series)",
	.options = append_options,
	.smaller = "--file-size or --streams",
	.models_machines = true,
	.run = append_run,
	.measure = append_measure,
};

/* --- fallocate2 --------------------------------------------------------------------------------------------- */

enum { CONTAINERS, SECONDS, ROUNDS, FILE_SIZE, STEP, WRITTEN };

static const struct workload_option fallocate2_options[] = {
	[CONTAINERS] = { "containers", "N", SETTING_NUMBER, 0, 0, 65536, "how many files; 0: one for each thread" },
	[SECONDS] = { "seconds", "N", SETTING_NUMBER, 1, 1, 86400, "how long" },
	[ROUNDS] = { "rounds", "N", SETTING_NUMBER, 0, 0, UINT32_MAX,
	             "so many truncations each, however long; 0: as --seconds says" },
	[FILE_SIZE] = { "file-size", "SIZE", SETTING_BYTES, 1 << 20, 1, 1ull << 40, "when a file is truncated" },
	[STEP] = { "append-size", "SIZE", SETTING_BYTES, 8 << 10, 1, 1ull << 40, "of each append" },
	[WRITTEN] = { "written", NULL, SETTING_FLAG, 0, 0, 1, "by write(2) instead of fallocate(2)" },
	{ 0 },
};

/* The journal commits every 5 seconds. If time is not modelled, it commits after this many truncations of a file. */
#define COMMIT_SECONDS 5
#define LITTLE_SPACE_BLOCKS                                                                                            \
	65536 /* with fewer free blocks it commits at once, as the kernel does when nothing is free */
#define ROUNDS_PER_COMMIT 64

/*
 * The time runs from the end of the first round: starting 64 threads takes a while on a busy machine, and left no
 * time for the rounds.
 */
static bool is_late(struct job *job)
{
	const struct clocks *clocks = job->simulation->clocks;
	double none = 0, time = clocks ? clocks_now(clocks) : seconds_of(CLOCK_MONOTONIC);

	if (!atomic_load_explicit(&job->deadline, memory_order_relaxed))
		atomic_compare_exchange_strong(&job->deadline, &none, time + job->seconds);
	return time >= atomic_load_explicit(&job->deadline, memory_order_relaxed);
}

/* Frees the last extent, under its group's lock, in a turn of its own: others go on meanwhile. */
static errcode_t free_last_extent(const struct job *job, struct simulated_file *file, struct ext2mb_worker *worker)
{
	const struct file_extent *last = &file->map.extents[file->map.count - 1];

	clocks_lock(job->simulation->clocks, LOCK_OF_GROUP, image_block_group(job->simulation->image, last->physical),
	            1);
	if (file->map.count > 1)
		clocks_pause(job->simulation->clocks);
	return simulated_file_shrink(file, worker, last->logical);
}

static bool is_commit_due(struct job *job, const struct container *container)
{
	const struct clocks *clocks = job->simulation->clocks;

	if (!clocks)
		return container->rounds % ROUNDS_PER_COMMIT == 0;
	if (clocks_now(clocks) >= job->next_commit)
		job->next_commit += COMMIT_SECONDS;
	else if (ext2mb_free_blocks(job->simulation->image->mb) > LITTLE_SPACE_BLOCKS)
		return false;
	return true;
}

static errcode_t truncate_file(struct job *job, struct container *container, struct simulated_file *file,
                               struct ext2mb_worker *worker, bool *is_over)
{
	bool has_turns = job->simulation->clocks && file->map.count;
	errcode_t error;

	ext2mb_file_truncate(worker, file->handle, 0);
	error = has_turns ? free_last_extent(job, file, worker) : simulated_file_truncate(file, worker);
	container->is_shrinking = file->blocks;
	if (error || container->is_shrinking)
		return error;
	container->rounds++;
	if (!error && is_commit_due(job, container))
		error = streams_commit(job->simulation);
	*is_over = job->rounds ? container->rounds == job->rounds : is_late(job);
	return error;
}

/* Without threads a step is one call; with threads it is a whole round, since they share nothing. */
static errcode_t fallocate2_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct job *job = context;
	struct container *container = &job->containers[stream];
	struct simulated_file *file = &job->set->files[stream];
	bool takes_turns = !job->simulation->threads;

	do {
		if (file->blocks == job->file_blocks || container->is_shrinking)
			return truncate_file(job, container, file, worker, is_over);
		container->appends++;
		errcode_t error = simulated_file_append(NULL, file, worker, next_end(job, file), job->flags);

		if (error)
			return error;
	} while (!takes_turns);
	return 0;
}

/* Adds the rates on the modelled machine. */
static void add_modelled_rates(const struct job *job, const struct clocks_cost *cost, double appends)
{
	double rate = appends / cost->seconds;

	result_add(
		job->simulation->result, NULL, RESULT_MODELLED,
		(const struct named_value[]){
			{ "ops_per_container", "Appends per container and second", rate / (double)job->set->count, 0 },
			{ "ops", "Appends per second", rate, 0 },
			{ "waited_percent", "Of the processors' time: waits (%)", 100 * cost->waited_share, 1 },
			{ "limited_percent", "Kept idle by the CPU limit (%)", 100 * cost->limited_share, 1 },
			{ 0 },
		});
}

static void add_rates(const struct job *job, const struct streams_cost *cost)
{
	uint64_t appends = 0, fewest = UINT64_MAX;
	double count = (double)job->set->count;

	for (size_t index = 0; index < job->set->count; index++) {
		appends += job->containers[index].appends;
		if (job->containers[index].appends < fewest)
			fewest = job->containers[index].appends;
	}
	double all = (double)appends;

	if (job->simulation->options->machine)
		add_modelled_rates(job, &cost->modelled, all);
	else
		result_add(job->simulation->result, NULL, RESULT_MEASURED,
		           (const struct named_value[]){
				   { "ops_per_container", "Appends per container and second",
		                     all / count / cost->seconds, 0 },
				   { "ops", "Appends per second", all / cost->seconds, 0 },
				   { "processor_ns", "Nanoseconds of processor time each",
		                     1e9 * cost->processor_seconds / all, 1 },
				   { "fairness", "Slowest one's part of the average", (double)fewest * count / all, 2 },
				   { 0 },
			   });
	result_add(job->simulation->result, NULL, RESULT_COUNTED,
	           (const struct named_value[]){
			   { "appends", "Appends", all, 0 },
			   { "waits_per_thousand", "Waits for a lock, of 1000 appends",
	                     1000 * (double)cost->lock_waits / all, 3 },
			   { 0 },
		   });
}

static errcode_t fallocate2_run(struct simulation *simulation)
{
	const struct setting *settings = simulation->settings;
	unsigned int count = streams_wanted(simulation, settings[CONTAINERS].number);
	struct job job = {
		.simulation = simulation,
		.file_blocks = blocks_of(simulation, settings[FILE_SIZE].number),
		.step_blocks = blocks_of(simulation, settings[STEP].number),
		.rounds = settings[ROUNDS].number,
		.seconds = (double)settings[SECONDS].number,
		.next_commit = COMMIT_SECONDS,
	};
	struct streams_cost cost;
	errcode_t error = make_files(&job, count, settings[WRITTEN].number, false);

	simulation->asked_bytes = (uint64_t)count * job.file_blocks * simulation->image->format.block_bytes;
	if (!error) {
		progress_stage(simulation->options->progress, "fallocate2", 0, 0);
		error = streams_run(simulation, count, fallocate2_step, &job, 0, "cannot append or truncate", &cost);
	}
	if (!error) {
		add_rates(&job, &cost);
		error = allocator_values_add(simulation, &cost);
	}
	close_files(&job);
	return error;
}

const struct workload fallocate2_workload = {
	.name = "fallocate2",
	.summary = "files that grow by 8 KiB to 1 MiB and are truncated (will-it-scale's loop)",
	.row = "ops_per_container",
	.options = fallocate2_options,
	.smaller = "--file-size or --containers",
	.models_machines = true,
	.run = fallocate2_run,
};
