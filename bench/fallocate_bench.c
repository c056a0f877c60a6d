/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * will-it-scale's fallocate2 through the library's files, on a filesystem image that is not changed: each thread
 * appends 8 KiB at a time to a file of its own until it is 1 MiB long, and truncates it, for ever.
 *
 *   fallocate_bench [options] IMAGE [THREADS]...      (1 2 4 8 16 32 64)
 *     --seconds=2 --rounds=3                          the median of so many rounds, which alternate
 *     --normalize=ext2mb|table|pow2|none --small=directory|thread|none --policy=base|series|ext2mb --written
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare/policies.h"

#define FILE_BYTES (1u << 20)
#define APPEND_BYTES (8u << 10)
#define TRUNCATES_PER_COMMIT 64
#define MOST_ROUNDS 15

struct task {
	_Alignas(128) struct ext2mb *mb;
	pthread_t thread;
	ext2_ino_t ino;
	uint32_t block_bytes;
	uint32_t flags;
	_Atomic uint64_t appends;
};

static _Atomic int is_over;

static void must(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "fallocate_bench: %s: %s\n", what, error_message(error));
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Grows the file to FILE_BYTES and gives its extents, joined. */
static unsigned int grow(struct task *task, struct ext2mb_worker *worker, struct ext2mb_file *file,
                         struct ext2mb_extent *extents)
{
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .flags = task->flags };
	uint64_t blocks = FILE_BYTES / task->block_bytes;
	uint64_t appends = 0;
	unsigned int count = 0;

	while (request.logical < blocks) {
		struct ext2mb_extent extent;
		struct ext2mb_extent *last = &extents[count ? count - 1 : 0];

		request.count = APPEND_BYTES / task->block_bytes;
		must(ext2mb_file_alloc(worker, file, &request, &extent), "append");
		if (count && last->start + last->count == extent.start)
			last->count += extent.count;
		else
			extents[count++] = extent;
		request.logical += extent.count;
		appends++;
	}
	atomic_store_explicit(&task->appends, task->appends + appends, memory_order_relaxed);
	return count;
}

static void *run(void *argument)
{
	struct task *task = argument;
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = task->ino, .parent = EXT2_ROOT_INO };
	struct ext2mb_extent extents[FILE_BYTES / 1024];
	struct ext2mb_worker *worker;
	struct ext2mb_file *file;

	must(ext2mb_worker_open(task->mb, &worker), "worker");
	must(ext2mb_file_open(worker, &info, &file), "file");
	for (uint64_t truncates = 1; !atomic_load_explicit(&is_over, memory_order_relaxed); truncates++) {
		unsigned int count = grow(task, worker, file, extents);

		ext2mb_file_truncate(worker, file, 0);
		while (count--)
			must(ext2mb_free(worker, extents[count].start, extents[count].count), "free");
		if (truncates % TRUNCATES_PER_COMMIT == 0)
			must(ext2mb_commit(task->mb), "commit");
	}
	ext2mb_file_close(worker, file);
	ext2mb_worker_close(worker);
	return NULL;
}

struct result {
	double millions; /* of appends a second, all threads together */
	double each_ns;  /* processor time of an append: what a busy machine does not distort */
	double fairness; /* of the threads, the slowest one's part of the average */
};

static struct result measure(ext2_filsys fs, const struct policy_options *options, unsigned int threads, uint32_t flags,
                             double seconds)
{
	struct task *tasks = aligned_alloc(_Alignof(struct task), threads * sizeof(*tasks));
	uint64_t appends = 0, fewest = UINT64_MAX;
	struct ext2mb *mb;

	must(policy_open(fs, options, &mb), "open");
	atomic_store(&is_over, 0);
	double start = now(CLOCK_MONOTONIC), processor_start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned int index = 0; index < threads; index++) {
		tasks[index] =
			(struct task){ .mb = mb, .ino = 12 + index, .block_bytes = fs->blocksize, .flags = flags };
		must(pthread_create(&tasks[index].thread, NULL, run, &tasks[index]), "thread");
	}
	nanosleep(&(struct timespec){ (time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds)) }, NULL);
	atomic_store(&is_over, 1);
	for (unsigned int index = 0; index < threads; index++) {
		pthread_join(tasks[index].thread, NULL);
		appends += tasks[index].appends;
		if (tasks[index].appends < fewest)
			fewest = tasks[index].appends;
	}
	double taken = now(CLOCK_MONOTONIC) - start, processor = now(CLOCK_PROCESS_CPUTIME_ID) - processor_start;
	char why[200] = "";
	must(ext2mb_commit(mb), "commit");
	must(ext2mb_check(mb, why, sizeof(why)), why);
	ext2mb_close(mb);
	free(tasks);
	return (struct result){ 1e-6 * (double)appends / taken, 1e9 * processor / (double)appends,
		                (double)fewest * threads / (double)appends };
}

static int by_millions(const void *left, const void *right)
{
	const struct result *one = left;
	const struct result *other = right;

	return (one->millions > other->millions) - (one->millions < other->millions);
}

static unsigned int choice(const char *text, const char *const *names)
{
	for (unsigned int index = 0; names[index]; index++)
		if (!strcmp(text, names[index]))
			return index;
	fprintf(stderr, "fallocate_bench: %s: unknown\n", text);
	exit(2);
}

int main(int argc, char **argv)
{
	static const char *const normalizations[] = { "default", "ext2mb", "table", "pow2", "none", NULL };
	static const char *const smalls[] = { "default", "directory", "thread", "none", NULL };
	static const struct option long_options[] = {
		{ "seconds", 1, 0, 's' },
		{ "rounds", 1, 0, 'r' },
		{ "normalize", 1, 0, 'n' },
		{ "small", 1, 0, 'm' },
		{ "policy", 1, 0, 'p' },
		{ "written", 0, 0, 'w' },
		{ 0 },
	};
	static unsigned int all_threads[] = { 1, 2, 4, 8, 16, 32, 64 };
	struct policy_options options = { 0 };
	struct result results[16][MOST_ROUNDS];
	unsigned int *threads = all_threads, count = 7, rounds = 3;
	uint32_t flags = EXT2MB_FILE_UNWRITTEN;
	double seconds = 2;
	ext2_filsys fs;

	initialize_ext2_error_table();
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		switch (option) {
		case 's':
			seconds = atof(optarg);
			break;
		case 'r':
			rounds = (unsigned int)atoi(optarg) % (MOST_ROUNDS + 1);
			break;
		case 'n':
			options.allocator.normalization = choice(optarg, normalizations);
			break;
		case 'm':
			options.allocator.locality = choice(optarg, smalls);
			break;
		case 'p':
			must(policy_find(optarg, &options.policy), optarg);
			break;
		case 'w':
			flags = 0;
			break;
		default:
			return 2;
		}
	}
	if (optind >= argc || argc - optind > 16)
		return 2;
	must(ext2fs_open(argv[optind], EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), argv[optind]);
	if (optind + 1 < argc) {
		count = (unsigned int)(argc - optind - 1);
		threads = calloc(count, sizeof(*threads));
		for (unsigned int index = 0; index < count; index++)
			threads[index] = (unsigned int)atoi(argv[optind + 1 + (int)index]);
	}
	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int index = 0; index < count; index++)
			results[index][round] = measure(fs, &options, threads[index], flags, seconds);
	for (unsigned int index = 0; index < count; index++) {
		qsort(results[index], rounds, sizeof(**results), by_millions);
		struct result *median = &results[index][rounds / 2];
		printf("%3u threads: %7.2f million appends a second, %6.1f ns of processor time each, slowest thread "
		       "%.2f of "
		       "the average\n",
		       threads[index], median->millions, median->each_ns, median->fairness);
	}
	must(ext2fs_close(fs), "close");
	return 0;
}
