/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads that stress orphans: in stress-orphan every thread truncates its own file byte by byte; in reaim's
 * creat_clo every task opens an existing empty file with creat(2), and closes it. Each truncation adds the inode to
 * the orphans and deletes it again.
 *
 * A truncation changes the inode as often as in Linux, and zeroes the page cache after the new end: otherwise there
 * would be nothing with which to compare the orphan's cost. Comments name Linux's call for each change.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "compare/orphan_slots_locked.h"
#include "simulate/image/inode_buffers.h"
#include "simulate/results/counted_values.h"

enum { FILES, ORPHANS, AMOUNT }; /* AMOUNT: bytes or times */
enum orphan_kind { LOCKLESS, LOCKED, NONE };

static const struct workload_option truncate_options[] = {
	[FILES] = { "files", "N", SETTING_NUMBER, 0, 0, 65536, "how many; 0: one for each thread" },
	[ORPHANS] = { "orphans", "lockless|locked|none", SETTING_CHOICE, LOCKLESS, 0, 0, "how orphans are kept" },
	[AMOUNT] = { "file-size", "SIZE", SETTING_BYTES, 256 << 10, 1, 1 << 30, "bytes, and so truncations" },
	{ 0 },
};

static const struct workload_option creat_clo_options[] = {
	[FILES] = { "files", "N", SETTING_NUMBER, 0, 0, 65536, "how many; 0: one for each thread" },
	[ORPHANS] = { "orphans", "lockless|locked|none", SETTING_CHOICE, LOCKLESS, 0, 0, "how orphans are kept" },
	[AMOUNT] = { "times", "N", SETTING_NUMBER, 100000, 1, UINT32_MAX, "how often each file is created" },
	{ 0 },
};

/* The journal commits freed blocks after this many truncations of a file. */
#define STEPS_PER_COMMIT 65536

/* Before they became lockless, ext4_orphan_file_add() took its lock twice, ext4_orphan_file_del() once. */
#define ADDITION_LOCKS 2
#define DELETION_LOCKS 1

struct shrinking {
	_Alignas(128) uint64_t left; /* bytes of the file, or times */
	uint8_t *page;               /* of truncate: its last block in the page cache */
};

struct job {
	struct simulation *simulation;
	struct file_set *set;
	struct shrinking *files;
	uint8_t *pages;                 /* of truncate: a block for each file */
	struct ext2mb_orphans *orphans; /* NULL: no orphans */
};

/*
 * With a machine: takes the orphan file's lock `times` times, or the cache line of the slot's block. An orphan list
 * has no index.
 */
static void pass_locks(const struct job *job, uint32_t index, uint64_t times)
{
	uint32_t slots = job->simulation->image->format.block_bytes / sizeof(uint32_t);

	if (job->simulation->settings[ORPHANS].number == LOCKED || index / slots >= CLOCKS_MOST_ORPHAN_BLOCKS)
		clocks_lock(job->simulation->clocks, LOCK_OF_ORPHANS, 0, times);
	else
		clocks_lock(job->simulation->clocks, LINE_OF_ORPHAN_BLOCK, index / slots, 1);
}

/* Adds and deletes an orphan around the action, as a truncation does. */
static errcode_t as_orphan(const struct job *job, unsigned int file, struct ext2mb_worker *worker,
                           errcode_t (*action)(const struct job *, unsigned int, struct ext2mb_worker *))
{
	uint32_t ino = job->set->files[file].ino, index = 0;
	errcode_t error = job->orphans ? ext2mb_orphan_add(job->orphans, file, ino, &index) : 0;

	if (job->simulation->clocks && job->orphans)
		pass_locks(job, index, ADDITION_LOCKS);
	if (!error)
		error = action(job, file, worker);
	if (job->simulation->clocks && job->orphans)
		pass_locks(job, index, DELETION_LOCKS);
	if (!error && job->orphans)
		error = ext2mb_orphan_delete(job->orphans, index, ino);
	return error;
}

static errcode_t mark_dirty(const struct job *job, unsigned int file)
{
	return inode_buffers_mark_dirty(job->simulation->image, &job->set->files[file],
	                                &job->set->buffers->inodes[file]);
}

static errcode_t mark_extents(const struct job *job, unsigned int file)
{
	return inode_buffers_mark_extents(job->simulation->image, &job->set->files[file],
	                                  &job->set->buffers->inodes[file]);
}

/* Zeroes the page after the file's end twice: truncate_pagecache() does it, and ext4_block_truncate_page() again. */
static void zero_tail(const struct job *job, const struct shrinking *shrinking)
{
	uint32_t block_bytes = job->simulation->image->format.block_bytes;
	uint32_t end = (uint32_t)(shrinking->left % block_bytes);

	if (!end)
		return;
	memset(shrinking->page + end, 0, block_bytes - end);
	atomic_signal_fence(memory_order_seq_cst); /* otherwise the compiler would remove the first one */
	memset(shrinking->page + end, 0, block_bytes - end);
}

/* Frees the last block, as ext4_ext_remove_space() does. */
static errcode_t free_blocks(const struct job *job, unsigned int file, uint32_t blocks, struct ext2mb_worker *worker)
{
	ext2mb_file_truncate(worker, job->set->files[file].handle, blocks);
	errcode_t error = simulated_file_shrink(&job->set->files[file], worker, blocks);

	if (!error)
		error = mark_dirty(job, file); /* dquot_free_block() */
	if (!error)
		error = mark_extents(job, file); /* ext4_ext_rm_leaf() */
	if (!error && !blocks)
		error = mark_dirty(job, file); /* the empty tree's root */
	return error;
}

/* Does the work from ext4_setattr() to the extents in ext4_truncate(). */
static errcode_t cut_byte(const struct job *job, unsigned int file, struct ext2mb_worker *worker)
{
	struct shrinking *shrinking = &job->files[file];
	struct buffered_inode *inode = &job->set->buffers->inodes[file];
	uint64_t blocks = image_blocks_of(job->simulation->image, --shrinking->left);

	inode_buffers_touch(inode);
	inode->value.size_bytes = shrinking->left;
	errcode_t error = mark_dirty(job, file); /* ext4_setattr(): i_disksize */

	zero_tail(job, shrinking);
	if (!error)
		error = mark_dirty(job, file); /* ext4_ext_truncate(): i_disksize again */
	if (!error && blocks != job->set->files[file].blocks)
		error = free_blocks(job, file, (uint32_t)blocks, worker);
	return error;
}

/* Does the work after the orphan is deleted. */
static errcode_t finish(const struct job *job, unsigned int file)
{
	inode_buffers_touch(&job->set->buffers->inodes[file]);
	errcode_t error = mark_dirty(job, file); /* ext4_truncate(): its time */

	return error ? error : mark_dirty(job, file); /* ext4_setattr(): setattr_copy() */
}

static errcode_t truncate_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	const struct job *job = context;
	struct shrinking *shrinking = &job->files[stream];
	errcode_t error = as_orphan(job, stream, worker, cut_byte);

	if (!error)
		error = finish(job, stream);
	*is_over = !shrinking->left;
	if (!error && shrinking->left % STEPS_PER_COMMIT == 0)
		error = streams_commit(job->simulation);
	return error;
}

/* Truncates an empty file: ext4_setattr() calls ext4_truncate() in any case. */
static errcode_t cut_nothing(const struct job *job, unsigned int file, struct ext2mb_worker *worker UNUSED)
{
	errcode_t error = mark_dirty(job, file); /* ext4_ext_truncate(): i_disksize */

	return error ? error : mark_extents(job, file); /* ext4_ext_remove_space(): the empty tree's root */
}

static errcode_t creat_clo_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	const struct job *job = context;
	errcode_t error = simulated_file_open(job->set, &job->set->files[stream], 0, worker);

	if (error)
		return error;
	error = as_orphan(job, stream, worker, cut_nothing);
	if (!error)
		error = finish(job, stream);
	simulated_file_close(&job->set->files[stream], worker);
	*is_over = !--job->files[stream].left;
	return error;
}

/* Writes the whole file; not measured. */
static errcode_t write_whole(struct job *job, unsigned int file, uint64_t bytes)
{
	struct image *image = job->simulation->image;
	uint32_t block_bytes = image->format.block_bytes, blocks = (uint32_t)image_blocks_of(image, bytes);
	struct simulated_file *simulated = &job->set->files[file];
	errcode_t error = simulated_file_open(job->set, simulated, 0, image->worker);

	if (!error)
		error = simulated_file_append(NULL, simulated, image->worker, blocks, 0);
	job->files[file].page = job->pages + (size_t)file * block_bytes;
	memset(job->files[file].page, 'x', block_bytes);
	job->set->buffers->inodes[file].value.size_bytes = bytes;
	if (!error)
		error = mark_extents(job, file);
	job->set->buffers->inodes[file].changes = 0;
	return error;
}

static errcode_t prepare(struct simulation *simulation, bool has_blocks, struct job *job)
{
	const struct setting *settings = simulation->settings;
	struct image *image = simulation->image;
	unsigned int count = streams_wanted(simulation, settings[FILES].number);
	uint32_t block_bytes = image->format.block_bytes;

	*job = (struct job){
		.simulation = simulation,
		.files = aligned_alloc(_Alignof(struct shrinking), count * sizeof(*job->files)),
		.pages = aligned_alloc(block_bytes, (size_t)count * block_bytes),
	};
	if (!job->files || !job->pages)
		return ENOMEM;
	for (unsigned int file = 0; file < count; file++)
		job->files[file] = (struct shrinking){ .left = settings[AMOUNT].number };
	errcode_t error = file_set_create(image, NULL, image->directory, count, &job->set);
	if (!error)
		error = file_set_alloc_inodes(job->set, image->worker);
	if (!error)
		error = inode_buffers_open(image, job->set);
	for (unsigned int file = 0; !error && has_blocks && file < count; file++)
		error = write_whole(job, file, settings[AMOUNT].number);
	return error;
}

/* The problem names the wrong inode or block. */
static errcode_t open_orphans(struct simulation *simulation, struct job *job)
{
	uint64_t kind = simulation->settings[ORPHANS].number;
	struct image *image = simulation->image;
	const struct ext2mb_orphan_options options = { .struct_bytes = sizeof(options), .mb = image->mb };
	char why[128] = "";

	if (kind == NONE)
		return 0;
	errcode_t error = kind == LOCKED ? orphan_open_locked(image->fs, &options, why, sizeof(why), &image->orphans) :
	                                   ext2mb_orphan_open(image->fs, &options, why, sizeof(why), &image->orphans);

	job->orphans = image->orphans;
	if (!error)
		return 0;
	return problem_set_reason(simulation->problem, error, image->path, "cannot read its orphans", "%s: %s", why,
	                          error_message(error));
}

static void add_rates(const struct job *job, const struct streams_cost *cost)
{
	struct simulation *simulation = job->simulation;
	double all = (double)job->set->count * (double)simulation->settings[AMOUNT].number;
	if (simulation->options->machine)
		result_add(simulation->result, NULL, RESULT_MODELLED,
		           (const struct named_value[]){
				   { "ops", "Truncations per second", all / cost->modelled.seconds, 0 },
				   { "modelled_seconds", "Seconds there", cost->modelled.seconds, 3 },
				   { "waited_percent", "Of the processors' time: waits (%)",
		                     100 * cost->modelled.waited_share, 1 },
				   { "limited_percent", "Kept idle by the CPU limit (%)",
		                     100 * cost->modelled.limited_share, 1 },
				   { 0 },
			   });
	else
		result_add(simulation->result, NULL, RESULT_MEASURED,
		           (const struct named_value[]){
				   { "ops", "Truncations per second", all / cost->seconds, 0 },
				   { "seconds", "Seconds", cost->seconds, 3 },
				   { "processor_ns", "Nanoseconds of processor time each",
		                     1e9 * cost->processor_seconds / all, 1 },
				   { 0 },
			   });
	result_add(simulation->result, NULL, RESULT_COUNTED,
	           (const struct named_value[]){
			   { "truncations", "Truncations", all, 0 },
			   { "inode_changes", "Changes of inodes", (double)inode_buffers_changes(job->set), 0 },
			   { 0 },
		   });
}

static errcode_t run_job(struct simulation *simulation, bool has_blocks, stream_step step)
{
	struct image *image = simulation->image;
	struct job job;
	struct streams_cost cost;
	errcode_t error = prepare(simulation, has_blocks, &job);

	if (error)
		problem_set(simulation->problem, error, image->path, "cannot make files");
	if (!error)
		error = open_orphans(simulation, &job);
	if (!error) {
		progress_stage(simulation->options->progress, "truncate", 0, 0);
		error = streams_run(simulation, (unsigned int)job.set->count, step, &job, 0, "cannot truncate", &cost);
	}
	for (size_t file = 0; job.set && file < job.set->count; file++)
		simulated_file_close(&job.set->files[file], image->worker);
	if (!error) {
		add_rates(&job, &cost);
		error = allocator_values_add(simulation, &cost);
	}
	free(job.files);
	free(job.pages);
	return error;
}

static errcode_t truncate_run(struct simulation *simulation)
{
	return run_job(simulation, true, truncate_step);
}

static errcode_t creat_clo_run(struct simulation *simulation)
{
	return run_job(simulation, false, creat_clo_step);
}

const struct workload truncate_workload = {
	.name = "truncate",
	.summary = "files that are truncated byte by byte, as orphans each time (stress-orphan)",
	.row = "ops",
	.options = truncate_options,
	.smaller = "--file-size or --files",
	.models_machines = true,
	.run = truncate_run,
};

const struct workload creat_clo_workload = {
	.name = "creat_clo",
	.summary = "empty files that are created again and closed, as orphans each time (reaim's creat_clo)",
	.row = "ops",
	.options = creat_clo_options,
	.models_machines = true,
	.run = creat_clo_run,
};
