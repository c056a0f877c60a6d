/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where preallocation lets files lie: small files of one directory together, streams in long extents. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ext2fs/ext2mb.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

/* --- Where small files lie ------------------------------------------------------------------------------------ */

#define DIRECTORIES 32
#define DIRECTORY_FILES 800
#define LOCALITY_THREADS 8
#define MOST_GROUPS 512

struct tree {
	struct ext2mb *mb;
	uint32_t blocks_per_group;
	uint32_t inodes_per_group;
	uint32_t groups;
	uint64_t seed;
	pthread_barrier_t barrier;
	_Atomic uint8_t bitmaps[DIRECTORIES][MOST_GROUPS]; /* which the directory's files dirtied */
};

struct tree_task {
	struct tree *tree;
	pthread_t thread;
	unsigned int number;
};

/* Writes every eighth file of all directories, in random order, as from a shuffled archive. */
static void *write_files(void *argument)
{
	enum { MINE = DIRECTORIES * DIRECTORY_FILES / LOCALITY_THREADS };
	struct tree_task *task = argument;
	struct tree *tree = task->tree;
	struct random random = { tree->seed + task->number };
	uint16_t *order = malloc(MINE * sizeof(*order));
	struct ext2mb_worker *worker;

	ck_assert_ok(ext2mb_worker_open(tree->mb, &worker));
	for (unsigned int index = 0; index < MINE; index++) {
		unsigned int other = (unsigned int)random_below(&random, index + 1);

		order[index] = order[other];
		order[other] = (uint16_t)(index % DIRECTORIES);
	}
	for (unsigned int index = 0; index < MINE; index++) {
		unsigned int directory = order[index];
		struct ext2mb_file_info info = {
			.struct_bytes = sizeof(info),
			.ino = 12,
			.parent = 1 + directory * tree->groups / DIRECTORIES * tree->inodes_per_group,
			.blocks = 1 + random_below(&random, 4) / 3 * 3,
			.flags = EXT2MB_FILE_FINAL,
		};
		struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = info.blocks };
		struct ext2mb_extent extent;
		struct ext2mb_file *file;

		/* So that all threads write at the same time, whatever their number of processors. */
		if (index % 16 == 0)
			pthread_barrier_wait(&tree->barrier);
		ck_assert_ok(ext2mb_file_open(worker, &info, &file));
		ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
		ext2mb_file_close(worker, file);
		atomic_store(&tree->bitmaps[directory][extent.start / tree->blocks_per_group], 1);
	}
	ext2mb_worker_close(worker);
	free(order);
	return NULL;
}

/* How many block bitmaps the files of a directory share, on average over the directories. */
static double bitmaps_of_directories(enum ext2mb_locality small, uint64_t seed)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .locality = small };
	static struct tree tree;
	static struct tree_task tasks[LOCALITY_THREADS];
	unsigned int bitmaps = 0;

	mb_image_make("-t ext4 -b 4096 -g 1024 -O ^flex_bg -N 40000", "500M");
	ext2_filsys fs = mb_image_open();
	memset(&tree, 0, sizeof(tree));
	ck_assert_ok(ext2mb_open(fs, &options, &tree.mb));
	tree.seed = seed;
	tree.blocks_per_group = fs->super->s_blocks_per_group;
	tree.inodes_per_group = fs->super->s_inodes_per_group;
	tree.groups = fs->group_desc_count;
	ck_assert_uint_le(tree.groups, MOST_GROUPS);
	pthread_barrier_init(&tree.barrier, NULL, LOCALITY_THREADS);
	for (unsigned int number = 0; number < LOCALITY_THREADS; number++) {
		tasks[number] = (struct tree_task){ .tree = &tree, .number = number };
		ck_assert_int_eq(pthread_create(&tasks[number].thread, NULL, write_files, &tasks[number]), 0);
	}
	for (unsigned int number = 0; number < LOCALITY_THREADS; number++)
		pthread_join(tasks[number].thread, NULL);
	pthread_barrier_destroy(&tree.barrier);
	for (unsigned int directory = 0; directory < DIRECTORIES; directory++)
		for (unsigned int group = 0; group < MOST_GROUPS; group++)
			bitmaps += tree.bitmaps[directory][group];
	mb_check(tree.mb);
	ext2mb_close(tree.mb);
	ck_assert_ok(ext2fs_close(fs));
	return (double)bitmaps / DIRECTORIES;
}

START_TEST(test_directories_stay_together)
{
	struct random random = random_start("directories");
	double by_thread = bitmaps_of_directories(EXT2MB_LOCALITY_THREAD, random.state);
	double by_directory = bitmaps_of_directories(EXT2MB_LOCALITY_DIRECTORY, random.state);

	printf("# %u threads, %u files in each of %u directories: block bitmaps for a directory's files: %.1f with "
	       "windows "
	       "by thread, %.1f by directory\n",
	       LOCALITY_THREADS, DIRECTORY_FILES, DIRECTORIES, by_thread, by_directory);
	ck_assert(by_directory * 4 < by_thread);
}
END_TEST

/* --- Streams -------------------------------------------------------------------------------------------------- */

#define STREAMS 64
#define STREAM_BLOCKS 262144 /* 1 GiB */
#define STREAM_APPEND 16
#define LONGEST_EXTENT 32768

struct stream {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_file *file;
	pthread_t thread;
	ext2_ino_t ino;
	uint64_t logical;
	uint64_t end;    /* of the last extent on disk */
	uint64_t length; /* of the last extent */
	unsigned int extents;
};

static void open_stream(struct stream *stream, struct ext2mb_worker *worker)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = stream->ino, .parent = 2 };

	stream->worker = worker;
	ck_assert_ok(ext2mb_file_open(worker, &info, &stream->file));
}

/* False when it is long enough. */
static bool append_to_stream(struct stream *stream)
{
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = stream->logical,
		.count = STREAM_APPEND - stream->logical % STREAM_APPEND,
	};
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_file_alloc(stream->worker, stream->file, &request, &extent));
	if (extent.start != stream->end || stream->length + extent.count > LONGEST_EXTENT) {
		stream->extents++;
		stream->length = 0;
	}
	stream->length += extent.count;
	stream->end = extent.start + extent.count;
	stream->logical += extent.count;
	return stream->logical < STREAM_BLOCKS;
}

static void *run_stream(void *argument)
{
	struct stream *stream = argument;
	struct ext2mb_worker *worker;

	ck_assert_ok(ext2mb_worker_open(stream->mb, &worker));
	open_stream(stream, worker);
	while (append_to_stream(stream))
		;
	ext2mb_file_close(worker, stream->file);
	ext2mb_worker_close(worker);
	return NULL;
}

static void run_in_threads(struct stream *streams)
{
	for (unsigned int number = 0; number < STREAMS; number++)
		ck_assert_int_eq(pthread_create(&streams[number].thread, NULL, run_stream, &streams[number]), 0);
	for (unsigned int number = 0; number < STREAMS; number++)
		pthread_join(streams[number].thread, NULL);
}

static void run_in_turns(struct stream *streams)
{
	struct random random = random_start("turns");
	unsigned int open = STREAMS, order[STREAMS];
	struct ext2mb_worker *worker;

	ck_assert_ok(ext2mb_worker_open(streams->mb, &worker));
	for (unsigned int number = 0; number < STREAMS; number++) {
		open_stream(&streams[number], worker);
		order[number] = number;
	}
	while (open) {
		unsigned int turn = (unsigned int)random_below(&random, open);

		if (append_to_stream(&streams[order[turn]]))
			continue;
		ext2mb_file_close(worker, streams[order[turn]].file);
		order[turn] = order[--open];
	}
	ext2mb_worker_close(worker);
}

/*
 * As in bench/append_bench, but with larger appends: 64 files of 1 GiB on 200 GiB. The series' own result was 105 free
 * extents and 588 in a file.
 */
START_TEST(test_streams)
{
	static struct stream streams[STREAMS];
	unsigned int worst = 0;
	struct ext2mb *mb;

	memset(streams, 0, sizeof(streams));
	mb_image_make("-t ext4 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard", "200G");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	unsigned int before = mb_free_extents(mb);
	for (unsigned int number = 0; number < STREAMS; number++) {
		streams[number].mb = mb;
		streams[number].ino = 12 + number;
	}
	if (_i)
		run_in_turns(streams);
	else
		run_in_threads(streams);
	for (unsigned int number = 0; number < STREAMS; number++)
		if (streams[number].extents > worst)
			worst = streams[number].extents;
	mb_check(mb);
	printf("# %s: %u extents at most in a file; %u free extents before, %u after\n", _i ? "in turns" : "in threads",
	       worst, before, mb_free_extents(mb));
	ck_assert_uint_le(worst, 16);
	ck_assert_uint_eq(ext2mb_reserved_blocks(mb), 0);
	ck_assert_uint_le(mb_free_extents(mb), 105);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_locality");
	TCase *tests = tcase_create("locality");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_test(tests, test_directories_stay_together);
	tcase_add_loop_test(tests, test_streams, 0, 2);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
