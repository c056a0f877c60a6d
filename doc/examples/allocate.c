/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that allocate and free blocks of one filesystem at the same time, with libext2mb.
 *
 *	allocate IMAGE [THREADS]
 *
 * In the end everything has been given back, and e2fsck finds nothing to say. See ext2mb(3).
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ext2fs/ext2mb.h>

#define MOST_THREADS 64
#define ROUNDS 1000
#define HELD 16 /* extents that a thread has at a time */
#define CLUSTERS_ASKED 50
#define UNIT_CLUSTERS 4 /* an extent is used in whole units; shorter ones are no use */

struct task {
	pthread_t thread;
	struct ext2mb *mb;
	uint64_t cluster_blocks;
	uint64_t stream;    /* which large file this would be */
	uint64_t allocated; /* blocks, in all */
	errcode_t error;
};

/* What is no use goes back at once, or, if another thread has committed meanwhile, with the next commit. */
static errcode_t trim_to_units(struct ext2mb_worker *worker, struct ext2mb_extent *extent, uint64_t unit_blocks)
{
	uint64_t surplus = extent->count % unit_blocks;

	if (!surplus)
		return 0;
	extent->count -= surplus;
	errcode_t error = ext2mb_give_back(worker, extent->start + extent->count, surplus);
	return error == EXT2MB_ET_BAD_RANGE ? ext2mb_free(worker, extent->start + extent->count, surplus) : error;
}

/* Allocates into each slot in turn, and gives back what was there before. */
static errcode_t allocate_and_free(struct task *task, struct ext2mb_worker *worker)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = CLUSTERS_ASKED * task->cluster_blocks,
		.stream = task->stream,
		.flags = EXT2MB_ALLOC_STREAM,
		.least_blocks = UNIT_CLUSTERS * task->cluster_blocks,
	};
	struct ext2mb_extent held[HELD] = { { 0 } };
	errcode_t error = 0;

	for (unsigned int round = 0; round < ROUNDS && !error; round++) {
		struct ext2mb_extent *extent = &held[round % HELD];

		if (extent->count)
			error = ext2mb_free(worker, extent->start, extent->count);
		extent->count = 0;
		if (!error)
			error = ext2mb_alloc(worker, &request, extent);
		if (!error)
			error = trim_to_units(worker, extent, request.least_blocks);
		task->allocated += extent->count;

		/* What was freed can be had again only after a commit, which any thread may make. */
		if (error == EXT2MB_ET_NO_SPACE)
			error = ext2mb_commit(task->mb);
	}
	for (unsigned int slot = 0; slot < HELD; slot++) {
		errcode_t free_error = held[slot].count ? ext2mb_free(worker, held[slot].start, held[slot].count) : 0;

		if (!error)
			error = free_error;
	}
	return error;
}

/* A worker handle belongs to one thread. */
static void *run_task(void *argument)
{
	struct task *task = argument;
	struct ext2mb_worker *worker;

	task->error = ext2mb_worker_open(task->mb, &worker);
	if (task->error)
		return NULL;
	task->error = allocate_and_free(task, worker);
	ext2mb_worker_close(worker);
	return NULL;
}

static errcode_t run_threads(struct ext2mb *mb, uint64_t cluster_blocks, unsigned int threads, uint64_t *allocated)
{
	struct task tasks[MOST_THREADS] = { { 0 } };
	unsigned int started = 0;
	errcode_t error = 0;

	for (; started < threads && !error; started += !error) {
		tasks[started].mb = mb;
		tasks[started].cluster_blocks = cluster_blocks;
		tasks[started].stream = started;
		error = pthread_create(&tasks[started].thread, NULL, run_task, &tasks[started]);
	}
	for (unsigned int index = 0; index < started; index++) {
		pthread_join(tasks[index].thread, NULL);
		*allocated += tasks[index].allocated;
		if (!error)
			error = tasks[index].error;
	}
	return error;
}

static errcode_t use_filesystem(ext2_filsys fs, unsigned int threads)
{
	uint64_t allocated = 0;
	struct ext2mb *mb;
	errcode_t error = ext2mb_open(fs, NULL, &mb);

	if (error)
		return error;
	uint64_t free_before = ext2mb_free_blocks(mb);
	error = run_threads(mb, (uint64_t)EXT2FS_CLUSTER_RATIO(fs), threads, &allocated);
	if (!error)
		error = ext2mb_sync(mb); /* commits first */
	if (!error)
		printf("%u threads allocated %" PRIu64 " blocks; %s free as before\n", threads, allocated,
		       ext2mb_free_blocks(mb) == free_before ? "as many are" : "NOT as many are");
	ext2mb_close(mb);
	return error;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 4;
	ext2_filsys fs;

	if (argc < 2 || argc > 3 || threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr, "usage: %s IMAGE [THREADS, up to %d]\n", argv[0], MOST_THREADS);
		return 2;
	}
	initialize_ext2_error_table(); /* libext2mb's own is there from ext2mb_open() on */
	errcode_t error = ext2fs_open(argv[1], EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs);
	if (error) {
		com_err(argv[0], error, "while opening %s", argv[1]);
		return 1;
	}
	error = use_filesystem(fs, threads);
	if (error)
		com_err(argv[0], error, "while allocating in %s", argv[1]);
	errcode_t close_error = ext2fs_close_free(&fs);
	if (close_error)
		com_err(argv[0], close_error, "while closing %s", argv[1]);
	return error || close_error ? 1 : 0;
}
