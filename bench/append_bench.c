/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the layout of growing files on a filesystem image, which is not changed. Streams append to files of one
 * directory; then the extents of the files and of the free space are counted.
 *
 *   append_bench [options] IMAGE
 *     --streams=64 --file-mib=1024 --append-kib=4
 *     --threads=64       so many threads share the streams; 0: one thread takes turns in a seeded random order
 *     --policy=base|series|ext2mb --normalize=ext2mb|table|pow2|none --small=directory|thread|none
 *     --unwritten        as fallocate does it
 *     --seed=1
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare/policies.h"

#define LONGEST_EXTENT 32768u /* blocks; unwritten: one less */
#define FIRST_INODE 12

struct settings {
	unsigned int streams;
	unsigned int threads;
	uint64_t file_blocks;
	uint64_t append_blocks;
	uint64_t seed;
	int is_unwritten;
};

struct stream {
	struct ext2mb_file *file;
	uint64_t logical;
	uint64_t end;    /* on disk, of the last extent */
	uint64_t length; /* of the last extent */
	uint64_t extents;
	uint64_t pieces; /* what filefrag counts: those that do not follow one another on disk */
};

struct task {
	_Alignas(128) const struct settings *settings;
	struct ext2mb *mb;
	struct stream *streams;
	unsigned int count;
	ext2_ino_t first_ino;
	uint64_t random;
	pthread_t thread;
};

static void must(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "append_bench: %s: %s\n", what, error_message(error));
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

static void record(struct stream *stream, const struct ext2mb_extent *extent, uint64_t longest)
{
	uint64_t left = extent->count;

	if (!stream->extents || extent->start != stream->end) {
		stream->pieces++;
		stream->extents++;
		stream->length = 0;
	}
	while (stream->length + left > longest) {
		left -= longest - stream->length;
		stream->length = 0;
		stream->extents++;
	}
	stream->length += left;
	stream->end = extent->start + extent->count;
	stream->logical += extent->count;
}

static void append(struct ext2mb_worker *worker, const struct settings *settings, struct stream *stream)
{
	uint64_t left = settings->append_blocks;

	while (left) {
		struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = stream->logical,
			.count = left,
			.flags = settings->is_unwritten ? EXT2MB_FILE_UNWRITTEN : 0,
		};
		struct ext2mb_extent extent;

		must(ext2mb_file_alloc(worker, stream->file, &request, &extent), "append");
		record(stream, &extent, settings->is_unwritten ? LONGEST_EXTENT - 1 : LONGEST_EXTENT);
		left -= extent.count;
	}
}

static void *run(void *argument)
{
	struct task *task = argument;
	const struct settings *settings = task->settings;
	unsigned int *open = calloc(task->count, sizeof(*open));
	unsigned int open_count = task->count;
	struct ext2mb_worker *worker;

	must(ext2mb_worker_open(task->mb, &worker), "worker");
	for (unsigned int index = 0; index < task->count; index++) {
		struct ext2mb_file_info info = {
			.struct_bytes = sizeof(info),
			.ino = task->first_ino + index,
			.parent = EXT2_ROOT_INO,
		};

		must(ext2mb_file_open(worker, &info, &task->streams[index].file), "file");
		open[index] = index;
	}
	while (open_count) {
		unsigned int turn = (unsigned int)(next_random(&task->random) % open_count);
		struct stream *stream = &task->streams[open[turn]];

		append(worker, settings, stream);
		if (stream->logical >= settings->file_blocks) {
			ext2mb_file_close(worker, stream->file);
			open[turn] = open[--open_count];
		}
	}
	free(open);
	ext2mb_worker_close(worker);
	return NULL;
}

static void run_threads(struct ext2mb *mb, const struct settings *settings, struct stream *streams)
{
	unsigned int threads = settings->threads ? settings->threads : 1;
	struct task *tasks = aligned_alloc(_Alignof(struct task), threads * sizeof(*tasks));

	for (unsigned int index = 0; index < threads; index++) {
		unsigned int first = settings->streams * index / threads;

		tasks[index] = (struct task){
			.settings = settings,
			.mb = mb,
			.streams = streams + first,
			.count = settings->streams * (index + 1) / threads - first,
			.first_ino = FIRST_INODE + first,
			.random = settings->seed + index,
		};
		must(pthread_create(&tasks[index].thread, NULL, run, &tasks[index]), "thread");
	}
	for (unsigned int index = 0; index < threads; index++)
		pthread_join(tasks[index].thread, NULL);
	free(tasks);
}

/* Runs that touch across groups are one, as e2freefrag counts them. */
static uint64_t count_free_extents(struct ext2mb *mb)
{
	struct ext2mb_extent extent = { 0 };
	uint64_t end = 0;
	uint64_t count = 0;

	for (;;) {
		errcode_t error = ext2mb_next_free(mb, end, &extent);
		if (error == EXT2MB_ET_NO_SPACE)
			return count;
		must(error, "free space");
		count += extent.start != end;
		end = extent.start + extent.count;
	}
}

static unsigned int choice(const char *text, const char *const *names)
{
	for (unsigned int index = 0; names[index]; index++)
		if (!strcmp(text, names[index]))
			return index;
	fprintf(stderr, "append_bench: %s: unknown\n", text);
	exit(2);
}

static void report(struct ext2mb *mb, const struct settings *settings, const struct stream *streams, double seconds)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	uint64_t extents = 0, pieces = 0, most_extents = 0, most_pieces = 0;

	for (unsigned int index = 0; index < settings->streams; index++) {
		extents += streams[index].extents;
		pieces += streams[index].pieces;
		if (streams[index].extents > most_extents)
			most_extents = streams[index].extents;
		if (streams[index].pieces > most_pieces)
			most_pieces = streams[index].pieces;
	}
	must(ext2mb_read_stats(mb, &stats), "statistics");
	printf("%.2f s, %.2f million appends a second; extents in a file: %.1f, at most %llu; pieces: %.1f, at most "
	       "%llu; "
	       "searches: %llu\n",
	       seconds, 1e-6 * (double)stats.successes / seconds, (double)extents / settings->streams,
	       (unsigned long long)most_extents, (double)pieces / settings->streams, (unsigned long long)most_pieces,
	       (unsigned long long)(stats.successes - stats.preallocation_hits));
}

int main(int argc, char **argv)
{
	static const char *const normalizations[] = { "default", "ext2mb", "table", "pow2", "none", NULL };
	static const char *const smalls[] = { "default", "directory", "thread", "none", NULL };
	static const struct option options[] = {
		{ "streams", 1, 0, 's' },    { "file-mib", 1, 0, 'f' },
		{ "append-kib", 1, 0, 'a' }, { "threads", 1, 0, 't' },
		{ "policy", 1, 0, 'p' },     { "small", 1, 0, 'm' },
		{ "seed", 1, 0, 'r' },       { "normalize", 1, 0, 'n' },
		{ "unwritten", 0, 0, 'u' },  { 0 },
	};
	struct policy_options choices = { 0 };
	struct settings settings = { .streams = 64, .threads = 64, .seed = 1 };
	uint64_t file_mib = 1024, append_kib = 4;
	const char *policy = "ext2mb";
	struct ext2mb *mb;
	ext2_filsys fs;

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (option) {
		case 's':
			settings.streams = (unsigned int)atoi(optarg);
			break;
		case 'f':
			file_mib = strtoull(optarg, NULL, 10);
			break;
		case 'a':
			append_kib = strtoull(optarg, NULL, 10);
			break;
		case 't':
			settings.threads = (unsigned int)atoi(optarg);
			break;
		case 'p':
			must(policy_find(optarg, &choices.policy), optarg);
			policy = optarg;
			break;
		case 'n':
			choices.allocator.normalization = choice(optarg, normalizations);
			break;
		case 'm':
			choices.allocator.locality = choice(optarg, smalls);
			break;
		case 'r':
			settings.seed = strtoull(optarg, NULL, 10);
			break;
		case 'u':
			settings.is_unwritten = 1;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc)
		return 2;
	initialize_ext2_error_table();
	must(ext2fs_open(argv[optind], EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), argv[optind]);
	must(policy_open(fs, &choices, &mb), "open");
	settings.file_blocks = (file_mib << 20) / fs->blocksize;
	settings.append_blocks = (append_kib << 10) / fs->blocksize;
	struct stream *streams = calloc(settings.streams, sizeof(*streams));
	printf("policy %s, normalization %s, small %s, %u streams, %u threads, seed %llu; free extents before: %llu\n",
	       policy, normalizations[choices.allocator.normalization], smalls[choices.allocator.locality],
	       settings.streams, settings.threads, (unsigned long long)settings.seed,
	       (unsigned long long)count_free_extents(mb));
	double start = now();
	run_threads(mb, &settings, streams);
	report(mb, &settings, streams, now() - start);

	char why[200] = "";
	must(ext2mb_commit(mb), "commit");
	if (ext2mb_check(mb, why, sizeof(why)))
		printf("CHECK FAILED: %s\n", why);
	printf("reserved: %llu blocks; free extents: %llu\n", (unsigned long long)ext2mb_reserved_blocks(mb),
	       (unsigned long long)count_free_extents(mb));
	free(streams);
	ext2mb_close(mb);
	must(ext2fs_close(fs), "close");
	return 0;
}
