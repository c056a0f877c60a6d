/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the allocator can do, on a filesystem image that is not changed:
 *   alloc_bench fallocate2 IMAGE THREADS SECONDS   will-it-scale's loop: 8 KiB appended to 1 MiB, truncated
 *   alloc_bench pack IMAGE THREADS                 sequential packing in disjoint windows until all is full
 *   alloc_bench open IMAGE                         how long opening takes
 *   alloc_bench memory IMAGE                       what a group costs, untouched and touched
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ext2fs/ext2mb.h"

#define FILE_BYTES (1 << 20)
#define APPEND_BYTES (8 << 10)
#define TRUNCATES_PER_COMMIT 64

struct task {
	_Alignas(128) uint64_t operations;
	struct ext2mb *mb;
	pthread_t thread;
	uint64_t number;
	uint64_t window_start;
	uint64_t window_end;
	uint32_t block_bytes;
};

static _Atomic int is_over;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double processor_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "alloc_bench: %s: %s\n", what, error_message(error));
	exit(1);
}

static void *run_fallocate2(void *argument)
{
	struct task *task = argument;
	struct ext2mb_extent extents[FILE_BYTES / APPEND_BYTES];
	struct ext2mb_worker *worker;
	uint64_t truncates = 0;

	must(ext2mb_worker_open(task->mb, &worker), "worker");
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		unsigned int count = 0;
		uint64_t end = 0;

		for (unsigned int offset = 0; offset < FILE_BYTES; offset += APPEND_BYTES) {
			struct ext2mb_request request = {
				.struct_bytes = sizeof(request),
				.goal = end,
				.count = APPEND_BYTES / task->block_bytes,
				.stream = task->number,
				.flags = EXT2MB_ALLOC_STREAM,
			};
			struct ext2mb_extent extent;

			must(ext2mb_alloc(worker, &request, &extent), "allocate");
			if (count && extent.start == end)
				extents[count - 1].count += extent.count;
			else
				extents[count++] = extent;
			end = extent.start + extent.count;
			task->operations++;
		}
		while (count--)
			must(ext2mb_free(worker, extents[count].start, extents[count].count), "free");
		if (++truncates % TRUNCATES_PER_COMMIT == 0)
			must(ext2mb_commit(task->mb), "commit");
	}
	ext2mb_worker_close(worker);
	return NULL;
}

static void *run_pack(void *argument)
{
	struct task *task = argument;
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = task->window_start,
		.limit = task->window_end,
		.flags = EXT2MB_ALLOC_PACK,
	};
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;

	must(ext2mb_worker_open(task->mb, &worker), "worker");
	for (;;) {
		request.count = 1 + task->operations % 4;
		errcode_t error = ext2mb_alloc(worker, &request, &extent);
		if (error == EXT2MB_ET_NO_SPACE)
			break;
		must(error, "pack");
		request.goal = extent.start + extent.count;
		task->operations++;
	}
	ext2mb_worker_close(worker);
	return NULL;
}

static uint64_t run_tasks(struct ext2mb *mb, ext2_filsys fs, unsigned int threads, void *(*run)(void *), double seconds)
{
	uint64_t blocks = ext2fs_blocks_count(fs->super);
	struct task *tasks = aligned_alloc(_Alignof(struct task), threads * sizeof(*tasks));
	uint64_t operations = 0;

	for (unsigned int index = 0; index < threads; index++) {
		tasks[index] = (struct task){
			.mb = mb,
			.number = 12 + index,
			.block_bytes = fs->blocksize,
			.window_start = blocks / threads * index,
			.window_end = blocks / threads * (index + 1),
		};
		must(pthread_create(&tasks[index].thread, NULL, run, &tasks[index]), "thread");
	}
	if (seconds > 0) {
		nanosleep(&(struct timespec){ (time_t)seconds, 0 }, NULL);
		atomic_store(&is_over, 1);
	}
	for (unsigned int index = 0; index < threads; index++) {
		pthread_join(tasks[index].thread, NULL);
		operations += tasks[index].operations;
	}
	free(tasks);
	return operations;
}

/* Bytes that the program has allocated. */
static uint64_t memory(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Takes a block in every group that has one free. */
static uint64_t touch_groups(struct ext2mb *mb, ext2_filsys fs)
{
	struct ext2mb_worker *worker;
	uint64_t touched = 0;

	must(ext2mb_worker_open(mb, &worker), "worker");
	for (dgrp_t group = 0; group < fs->group_desc_count; group++) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = ext2fs_group_first_block2(fs, group),
			.limit = ext2fs_group_last_block2(fs, group) + 1,
			.count = (uint64_t)EXT2FS_CLUSTER_RATIO(fs),
			.flags = EXT2MB_ALLOC_PACK,
		};
		struct ext2mb_extent extent;

		touched += ext2mb_alloc(worker, &request, &extent) == 0;
	}
	ext2mb_worker_close(worker);
	return touched;
}

static int measure_memory(ext2_filsys fs)
{
	struct ext2mb *mb;
	uint64_t before = memory();

	must(ext2mb_open(fs, NULL, &mb), "open");
	uint64_t opened = memory();
	uint64_t touched = touch_groups(mb, fs);

	printf("%u groups: %.1f bytes for each untouched one, %.0f more for each of %llu touched ones\n",
	       fs->group_desc_count, (double)(opened - before) / fs->group_desc_count,
	       (double)(memory() - opened) / (double)touched, (unsigned long long)touched);
	ext2mb_close(mb);
	must(ext2fs_close(fs), "close");
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 3 ? (unsigned int)atoi(argv[3]) : 1;
	double seconds = argc > 4 ? atof(argv[4]) : 3;
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb *mb;
	ext2_filsys fs;

	if (argc < 3)
		return 2;
	initialize_ext2_error_table();
	must(ext2fs_open(argv[2], EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), argv[2]);
	if (!strcmp(argv[1], "memory"))
		return measure_memory(fs);
	double start = now();
	must(ext2mb_open(fs, NULL, &mb), "open");
	printf("open %.3f s", now() - start);

	start = now();
	double processor_start = processor_time();
	uint64_t operations = 0;
	if (!strcmp(argv[1], "fallocate2"))
		operations = run_tasks(mb, fs, threads, run_fallocate2, seconds);
	else if (!strcmp(argv[1], "pack"))
		operations = run_tasks(mb, fs, threads, run_pack, 0);
	double taken = now() - start;
	must(ext2mb_read_stats(mb, &stats), "statistics");
	/* Processor time per operation is what a busy machine does not distort. */
	double each = operations ? 1e9 * (processor_time() - processor_start) / (double)operations : 0;
	printf(", %s, threads %u: %llu operations in %.2f s, %.2f million a second, %.0f ns of processor time each; "
	       "goal hits %llu, busy skips %llu\n",
	       argv[1], threads, (unsigned long long)operations, taken, 1e-6 * (double)operations / taken, each,
	       (unsigned long long)stats.goal_hits, (unsigned long long)stats.busy_skips);
	ext2mb_close(mb);
	must(ext2fs_close(fs), "close");
	return 0;
}
