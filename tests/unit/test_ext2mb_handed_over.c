/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files that are held open while others are written, and files that one worker writes and another one closes:
 * what is left of their slices must come back to the worker that wrote them, and be where the next file begins.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "space.h"
#include "unit.h"

enum { DIRECTORIES = 20, FILES = 20, MOST_BLOCKS = 15 };

static struct ext2mb_file *write_small(struct ext2mb_worker *worker, unsigned int number, uint64_t blocks,
                                       uint32_t flags)
{
	const struct ext2mb_file_info info = { .struct_bytes = sizeof(info),
		                               .ino = 1000 + number,
		                               .parent = 100 + number / FILES };
	const struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = blocks, .flags = flags };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
	ck_assert_uint_eq(extent.count, blocks);
	return file;
}

/* A package manager reserves and writes all files of a package, and closes them then. Without order in the first three.
 */
START_TEST(test_held_open)
{
	static struct ext2mb_file *files[DIRECTORIES * FILES];
	const uint32_t flags = _i ? EXT2MB_FILE_UNWRITTEN : 0;
	struct random random = random_start("held open");
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++)
		files[number] = write_small(image.worker, number, 1 + random_below(&random, MOST_BLOCKS), flags);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++)
		ext2mb_file_close(image.worker, files[number]);
	mb_expect_free_extents(image.mb, before + (_i ? 16 : 3 * FILES));
	small_image_close(&image);
}
END_TEST

/* The one that closes them may never have written a file, or write some of its own elsewhere. */
START_TEST(test_closed_by_another)
{
	struct random random = random_start("closed by another");
	struct ext2mb_worker *other;
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, NULL);
	ck_assert_ok(ext2mb_worker_open(image.mb, &other));
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++) {
		struct ext2mb_file *file = write_small(image.worker, number, 1 + random_below(&random, MOST_BLOCKS), 0);

		if (_i)
			ext2mb_file_close(other, write_small(other, 10000 + number, 16, 0));
		ext2mb_file_close(other, file);
	}
	ext2mb_worker_close(other);
	mb_expect_free_extents(image.mb, before + 16);
	small_image_close(&image);
}
END_TEST

/* The rest of a slice whose worker is gone is free; nobody else gets that worker's memory before. */
START_TEST(test_worker_gone)
{
	struct ext2mb_file *file = NULL;
	struct ext2mb_worker *workers[2], *again;
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, NULL);
	for (unsigned int index = 0; index < 2; index++)
		ck_assert_ok(ext2mb_worker_open(image.mb, &workers[index]));
	for (unsigned int number = 0; number <= 4 * FILES; number++) {
		if (file)
			ext2mb_file_close(workers[0], file);
		file = write_small(workers[0], number, 3, 0);
	}
	ext2mb_worker_close(workers[0]);
	ck_assert_ok(ext2mb_worker_open(image.mb, &again));
	ck_assert_ptr_ne(again, workers[0]);
	ck_assert_uint_gt(ext2mb_reserved_blocks(image.mb), 0);
	mb_check(image.mb);
	ext2mb_file_close(workers[1], file);
	mb_check(image.mb);
	ext2mb_worker_close(again);
	ext2mb_worker_close(workers[1]);
	ck_assert_ok(ext2mb_sync(image.mb));
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 0);
	small_image_close(&image);
}
END_TEST

/* --- Many threads, which close what others have opened ---------------------------------------------------------- */

enum { SHELVES = 64, MOST_THREADS = 32, MOST_EXTENTS = 4 };

/* A file on its way from one thread to another. */
struct parcel {
	struct ext2mb_file *file;
	struct ext2mb_extent extents[MOST_EXTENTS];
	unsigned int count;
	uint64_t end;
};

struct post {
	struct ext2mb *mb;
	struct space space;
	_Atomic(struct parcel *) shelves[SHELVES];
	uint64_t operations;
	_Atomic uint32_t inodes;
};

struct clerk {
	struct post *post;
	struct ext2mb_worker *worker;
	pthread_t thread;
	struct random random;
};

static void grow(struct clerk *clerk, struct parcel *parcel)
{
	struct space *space = &clerk->post->space;
	struct ext2mb_extent *extent = &parcel->extents[parcel->count];
	int64_t wanted = space_take_credits(&space->credits, 1 + (int64_t)random_below(&clerk->random, 24));
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = parcel->end,
		.count = (uint64_t)wanted << space->cluster_bits,
		.flags = random_below(&clerk->random, 3) ? 0 : EXT2MB_FILE_UNWRITTEN,
	};

	if (!wanted)
		return;
	ck_assert_ok(ext2mb_file_alloc(clerk->worker, parcel->file, &request, extent));
	space_change(space, extent, 0, 1);
	parcel->end += extent->count;
	parcel->count++;
	atomic_fetch_add(&space->credits, wanted - (int64_t)(extent->count >> space->cluster_bits));
}

static struct parcel *open_parcel(struct clerk *clerk)
{
	struct parcel *parcel = calloc(1, sizeof(*parcel));
	uint32_t number = atomic_fetch_add(&clerk->post->inodes, 1) % 8000;
	const struct ext2mb_file_info info = { .struct_bytes = sizeof(info),
		                               .ino = 20 + number,
		                               .parent = 2 + number / 16 };

	ck_assert_ptr_nonnull(parcel);
	ck_assert_ok(ext2mb_file_open(clerk->worker, &info, &parcel->file));
	grow(clerk, parcel);
	return parcel;
}

/* Grows it once more, closes it, and most often deletes it. */
static void end_parcel(struct clerk *clerk, struct parcel *parcel)
{
	struct space *space = &clerk->post->space;
	int64_t freed = 0;

	if (parcel->count < MOST_EXTENTS && random_below(&clerk->random, 2))
		grow(clerk, parcel);
	ext2mb_file_close(clerk->worker, parcel->file);
	for (unsigned int index = 0; index < parcel->count; index++) {
		const struct ext2mb_extent *extent = &parcel->extents[index];

		space_change(space, extent, 1, 0);
		ck_assert_ok(ext2mb_free(clerk->worker, extent->start, extent->count));
		freed += (int64_t)(extent->count >> space->cluster_bits);
	}
	free(parcel);
	ck_assert_ok(ext2mb_commit(clerk->post->mb));
	atomic_fetch_add(&space->credits, freed);
}

static void *work(void *argument)
{
	struct clerk *clerk = argument;
	struct post *post = clerk->post;

	for (uint64_t number = 0; number < post->operations; number++) {
		/* Another thread took it out or put it in: a shelf orders what both do with the file. */
		_Atomic(struct parcel *) *shelf = &post->shelves[random_below(&clerk->random, SHELVES)];
		struct parcel *taken = atomic_exchange(shelf, NULL);

		if (taken && random_below(&clerk->random, 4)) {
			end_parcel(clerk, taken);
			taken = NULL;
		} else if (!taken) {
			taken = open_parcel(clerk);
		}
		taken = taken ? atomic_exchange(shelf, taken) : NULL;
		if (taken)
			end_parcel(clerk, taken);
		if (random_below(&clerk->random, 50) == 0) {
			ext2mb_worker_close(clerk->worker);
			ck_assert_ok(ext2mb_worker_open(post->mb, &clerk->worker));
		}
	}
	return NULL;
}

static const struct {
	unsigned int threads;
	const char *options;
	const char *size;
	enum ext2mb_locality locality;
} offices[] = {
	{ 2, "-t ext4 -b 4096 -g 1024 -N 8192", "64M", EXT2MB_LOCALITY_DEFAULT },
	{ 8, "-t ext4 -b 4096 -g 4096 -N 8192", "33M", EXT2MB_LOCALITY_DEFAULT },
	{ 8, "-t ext4 -b 4096 -g 2048 -N 8192", "48M", EXT2MB_LOCALITY_THREAD },
	{ MOST_THREADS, "-t ext4 -b 4096 -O bigalloc -C 8192 -g 4096 -N 8192", "65M", EXT2MB_LOCALITY_DEFAULT },
};

START_TEST(test_threads)
{
	static struct clerk clerks[MOST_THREADS];
	static struct post post;
	const struct ext2mb_options options = { .struct_bytes = sizeof(options), .locality = offices[_i].locality };
	struct random random = random_start(offices[_i].options);
	const unsigned int threads = offices[_i].threads;

	memset(clerks, 0, sizeof(clerks));
	memset(&post, 0, sizeof(post));
	post.operations = mb_operations(24000) / threads;
	mb_image_make(offices[_i].options, offices[_i].size);
	ext2_filsys fs = mb_image_open();
	space_open(&post.space, fs);
	ck_assert_ok(ext2mb_open(fs, &options, &post.mb));
	for (unsigned int index = 0; index < threads; index++) {
		clerks[index] = (struct clerk){ .post = &post, .random.state = random_next(&random) };
		ck_assert_ok(ext2mb_worker_open(post.mb, &clerks[index].worker));
	}
	for (unsigned int index = 0; index < threads; index++)
		ck_assert_int_eq(pthread_create(&clerks[index].thread, NULL, work, &clerks[index]), 0);
	for (unsigned int index = 0; index < threads; index++)
		pthread_join(clerks[index].thread, NULL);
	mb_check(post.mb);
	ck_assert_uint_eq(ext2mb_free_blocks(post.mb) + ext2mb_reserved_blocks(post.mb),
	                  (uint64_t)atomic_load(&post.space.credits) << post.space.cluster_bits);
	for (unsigned int index = 0; index < SHELVES; index++) {
		struct parcel *parcel = atomic_exchange(&post.shelves[index], NULL);

		if (parcel)
			end_parcel(&clerks[index % threads], parcel);
	}
	for (unsigned int index = 0; index < threads; index++)
		ext2mb_worker_close(clerks[index].worker);
	ck_assert_ok(ext2mb_sync(post.mb));
	ck_assert_uint_eq(ext2mb_reserved_blocks(post.mb), 0);
	mb_check(post.mb);
	ck_assert_ok(ext2mb_close(post.mb));
	ck_assert_ok(ext2fs_close(fs));
	space_compare_with_disk(&post.space);
	mb_image_check();
	space_close(&post.space);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_handed_over");
	TCase *tests = tcase_create("handed over");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_held_open, 0, 2);
	tcase_add_loop_test(tests, test_closed_by_another, 0, 2);
	tcase_add_test(tests, test_worker_gone);
	tcase_add_loop_test(tests, test_threads, 0, sizeof(offices) / sizeof(*offices));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
