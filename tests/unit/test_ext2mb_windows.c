/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows and threads on a filesystem that is nearly full, where all windows are given back again and again and no
 * request may be refused that has a credit for what is certainly free. test_ext2mb_locality.c: where files lie.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "allocator/core/allocator.h"
#include "allocator/group/totals.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "space.h"
#include "unit.h"

/* What is free when a window's clusters have just become so. */
static void (*on_given_back)(struct ext2mb *mb);
#define PREALLOCATION_MEANWHILE(mb) (on_given_back ? on_given_back(mb) : (void)0)
#include "../../lib/allocator/preallocation/preallocation_register.c"

#define MOST_THREADS 200
#define FILES 6
#define FILE_EXTENTS 512
#define NEARLY_FULL 100 /* clusters */

struct arena {
	struct ext2mb *mb;
	struct space space;
	uint64_t operations;
};

struct one_file {
	struct ext2mb_file *file;
	uint64_t end; /* blocks */
	struct ext2mb_extent extents[FILE_EXTENTS];
	unsigned int count;
};

struct fighter {
	struct arena *arena;
	struct ext2mb_worker *worker;
	pthread_t thread;
	struct random random;
	unsigned int number;
	struct one_file files[FILES];
	int64_t pending; /* clusters freed since this thread's last commit */
	uint64_t handed_out;
};

static void open_one(struct fighter *fighter, struct one_file *file)
{
	struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = 12 + fighter->number * FILES + (ext2_ino_t)(file - fighter->files),
		.parent = 2 + (ext2_ino_t)random_below(&fighter->random, 5),
		.blocks = file->end,
	};

	if (!file->end && random_below(&fighter->random, 3) == 0) {
		info.flags = EXT2MB_FILE_FINAL;
		info.blocks = (1 + random_below(&fighter->random, 20)) << fighter->arena->space.cluster_bits;
	}
	ck_assert_ok(ext2mb_file_open(fighter->worker, &info, &file->file));
}

static void append(struct fighter *fighter, struct one_file *file)
{
	struct arena *arena = fighter->arena;
	int64_t wanted = 1 + (int64_t)random_below(&fighter->random, UINT64_C(1) << random_below(&fighter->random, 6));
	struct ext2mb_extent *extent = &file->extents[file->count];

	if (file->count == FILE_EXTENTS || !(wanted = space_take_credits(&arena->space.credits, wanted)))
		return;
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = file->end,
		.count = (uint64_t)wanted << arena->space.cluster_bits,
	};
	errcode_t error = ext2mb_file_alloc(fighter->worker, file->file, &request, extent);
	if (error)
		ck_abort_msg("%s, with %lld clusters certainly free", error_message(error), (long long)wanted);
	space_change(&arena->space, extent, 0, 1);
	file->count++;
	file->end += extent->count;
	atomic_fetch_add(&arena->space.credits, wanted - (int64_t)(extent->count >> arena->space.cluster_bits));
}

/* Others without files take from the same space. */
static void append_raw(struct fighter *fighter, struct one_file *file)
{
	struct arena *arena = fighter->arena;
	struct ext2mb_extent *extent = &file->extents[file->count];
	int64_t wanted;

	if (file->count == FILE_EXTENTS || !(wanted = space_take_credits(&arena->space.credits, 3)))
		return;
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = (uint64_t)wanted << arena->space.cluster_bits };
	ck_assert_ok(ext2mb_alloc(fighter->worker, &request, extent));
	space_change(&arena->space, extent, 0, 1);
	file->count++;
	atomic_fetch_add(&arena->space.credits, wanted - (int64_t)(extent->count >> arena->space.cluster_bits));
}

static void truncate_one(struct fighter *fighter, struct one_file *file)
{
	ext2mb_file_truncate(fighter->worker, file->file, 0);
	for (; file->count; file->count--) {
		struct ext2mb_extent *extent = &file->extents[file->count - 1];

		space_change(&fighter->arena->space, extent, 1, 0);
		ck_assert_ok(ext2mb_free(fighter->worker, extent->start, extent->count));
		fighter->pending += (int64_t)(extent->count >> fighter->arena->space.cluster_bits);
	}
	file->end = 0;
}

static void commit(struct fighter *fighter)
{
	ck_assert_ok(ext2mb_commit(fighter->arena->mb));
	atomic_fetch_add(&fighter->arena->space.credits, fighter->pending);
	fighter->pending = 0;
}

static void *fight(void *argument)
{
	struct fighter *fighter = argument;

	for (uint64_t number = 0; number < fighter->arena->operations; number++) {
		struct one_file *file = &fighter->files[random_below(&fighter->random, FILES)];
		uint64_t dice = random_below(&fighter->random, 100);

		if (!file->file)
			open_one(fighter, file);
		else if (dice < 84)
			append(fighter, file);
		else if (dice < 88)
			append_raw(fighter, file);
		else if (dice < 92 && atomic_load(&fighter->arena->space.credits) < NEARLY_FULL)
			truncate_one(fighter, file);
		else if (dice < 94)
			commit(fighter);
		else {
			ext2mb_file_close(fighter->worker, file->file);
			file->file = NULL;
		}
	}
	commit(fighter);
	return NULL;
}

static const struct {
	unsigned int threads;
	const char *options;
	const char *size;
	struct policy_options choices;
} fights[] = {
	{ 2, "-t ext4 -b 4096 -g 1024", "33M", { 0 } },
	{ 4, "-t ext4 -b 4096 -g 1024", "33M", { .allocator.locality = EXT2MB_LOCALITY_THREAD } },
	{ 8, "-t ext4 -b 4096 -g 2048", "33M", { .allocator.normalization = EXT2MB_NORMALIZE_TABLE } },
	{ 8,
	  "-t ext4 -b 4096 -O bigalloc -C 8192 -g 4096",
	  "65M",
	  { .allocator.normalization = EXT2MB_NORMALIZE_POW2 } },
	{ 16, "-t ext4 -b 1024", "30M", { .policy = POLICY_SERIES } },
	{ MOST_THREADS, "-t ext4 -b 4096 -g 4096", "33M", { 0 } },
};

static void run_fighters(struct fighter *fighters, unsigned int threads, struct arena *arena, struct random *random,
                         void *(*run)(void *))
{
	for (unsigned int number = 0; number < threads; number++) {
		fighters[number].arena = arena;
		fighters[number].number = number;
		fighters[number].random.state = random_next(random);
		ck_assert_ok(ext2mb_worker_open(arena->mb, &fighters[number].worker));
	}
	for (unsigned int number = 0; number < threads; number++)
		ck_assert_int_eq(pthread_create(&fighters[number].thread, NULL, run, &fighters[number]), 0);
	for (unsigned int number = 0; number < threads; number++)
		pthread_join(fighters[number].thread, NULL);
}

START_TEST(test_pressure)
{
	static struct fighter fighters[MOST_THREADS];
	struct random random = random_start(fights[_i].options);
	unsigned int threads = fights[_i].threads;
	struct arena arena = { .operations = mb_operations(40000) / threads };

	memset(fighters, 0, sizeof(fighters));
	mb_image_make(fights[_i].options, fights[_i].size);
	ext2_filsys fs = mb_image_open();
	space_open(&arena.space, fs);
	ck_assert_ok(policy_open(fs, &fights[_i].choices, &arena.mb));
	run_fighters(fighters, threads, &arena, &random, fight);
	mb_check(arena.mb);
	ck_assert_uint_eq(ext2mb_free_blocks(arena.mb) + ext2mb_reserved_blocks(arena.mb),
	                  (uint64_t)atomic_load(&arena.space.credits) << arena.space.cluster_bits);

	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	ck_assert_ok(ext2mb_read_stats(arena.mb, &stats));
	printf("# %u threads: %llu requests, %llu from windows, everything given back %llu times, %lld clusters left\n",
	       threads, (unsigned long long)stats.requests, (unsigned long long)stats.preallocation_hits,
	       (unsigned long long)stats.preallocation_discards, (long long)atomic_load(&arena.space.credits));
	ck_assert_ok(ext2mb_sync(arena.mb));
	ck_assert_uint_eq(ext2mb_reserved_blocks(arena.mb), 0);
	ck_assert_ok(ext2fs_flush(fs));
	space_compare_with_disk(&arena.space);
	for (unsigned int number = 0; number < threads; number++) {
		for (unsigned int index = 0; index < FILES; index++) {
			struct one_file *file = &fighters[number].files[index];

			if (!file->file)
				open_one(&fighters[number], file);
			truncate_one(&fighters[number], file);
			ext2mb_file_close(fighters[number].worker, file->file);
		}
		ext2mb_worker_close(fighters[number].worker);
	}
	ck_assert_ok(ext2mb_sync(arena.mb));
	mb_check(arena.mb);
	ext2mb_close(arena.mb);
	ck_assert_ok(ext2fs_close(fs));
	space_compare_with_disk(&arena.space);
	mb_image_check();
	space_close(&arena.space);
}
END_TEST

/* --- Free blocks, counted meanwhile --------------------------------------------------------------------------- */

struct sampler {
	struct ext2mb *mb;
	pthread_t thread;
	uint64_t free_at_open;
	_Atomic bool is_over;
	uint64_t samples;
};

static uint64_t gained(struct ext2mb *mb)
{
	return mb->clusters_released + totals_count(mb, COUNT_CLUSTERS_UNRESERVED);
}

/* Never below zero; nothing is free that was not at the beginning, but for what became free while it was counted. */
static void *sample(void *argument)
{
	struct sampler *sampler = argument;
	unsigned int cluster_bits = sampler->mb->geometry.cluster_bits;

	for (; !atomic_load(&sampler->is_over); sampler->samples++) {
		uint64_t before = gained(sampler->mb);
		int64_t clusters = (int64_t)ext2mb_free_blocks(sampler->mb) >> cluster_bits;
		uint64_t meanwhile = gained(sampler->mb) - before;

		if (clusters < 0 || (uint64_t)clusters > sampler->free_at_open + meanwhile)
			ck_abort_msg("%lld clusters are free of %llu, and %llu became free meanwhile",
			             (long long)clusters, (unsigned long long)sampler->free_at_open,
			             (unsigned long long)meanwhile);
	}
	return NULL;
}

static uint64_t free_when_given_back;

static void note_free_blocks(struct ext2mb *mb)
{
	free_when_given_back = ext2mb_free_blocks(mb);
}

/* Clusters are counted before another thread can take them, else it would look as if more was taken than there is. */
START_TEST(test_given_back)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = 20 };
	struct ext2mb_extent extent;
	struct small_image image;
	struct ext2mb_file *file;

	mb_image_make("-t ext4 -b 4096", "33M");
	small_image_open(&image, NULL);
	ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
	for (; request.logical < 60; request.logical += extent.count)
		ck_assert_ok(ext2mb_file_alloc(image.worker, file, &request, &extent));
	uint64_t free_blocks = ext2mb_free_blocks(image.mb), reserved = ext2mb_reserved_blocks(image.mb);
	ck_assert_uint_ne(reserved, 0);
	on_given_back = note_free_blocks;
	ext2mb_file_truncate(image.worker, file, 0);
	on_given_back = NULL;
	ck_assert_uint_eq(free_when_given_back, free_blocks + reserved);
	ext2mb_file_close(image.worker, file);
	ext2mb_worker_close(image.worker);
	ext2mb_close(image.mb);
	ck_assert_ok(ext2fs_close(image.fs));
}
END_TEST

START_TEST(test_free_blocks)
{
	static struct fighter fighters[4];
	struct random random = random_start("free blocks");
	struct arena arena = { .operations = mb_operations(20000) / 4 };
	struct sampler sampler = { 0 };

	memset(fighters, 0, sizeof(fighters));
	mb_image_make(fights[_i].options, fights[_i].size);
	ext2_filsys fs = mb_image_open();
	space_open(&arena.space, fs);
	ck_assert_ok(policy_open(fs, &fights[_i].choices, &arena.mb));
	sampler.mb = arena.mb;
	sampler.free_at_open = ext2mb_free_blocks(arena.mb) >> arena.space.cluster_bits;
	ck_assert_int_eq(pthread_create(&sampler.thread, NULL, sample, &sampler), 0);
	run_fighters(fighters, 4, &arena, &random, fight);
	atomic_store(&sampler.is_over, true);
	pthread_join(sampler.thread, NULL);
	printf("# counted %llu times\n", (unsigned long long)sampler.samples);
	for (unsigned int number = 0; number < 4; number++) {
		for (unsigned int index = 0; index < FILES; index++)
			ext2mb_file_close(fighters[number].worker, fighters[number].files[index].file);
		ext2mb_worker_close(fighters[number].worker);
	}
	mb_check(arena.mb);
	ext2mb_close(arena.mb);
	ck_assert_ok(ext2fs_close(fs));
	space_close(&arena.space);
}
END_TEST

/* --- The last cluster ---------------------------------------------------------------------------------------- */

/* Appends to all its files, one block each in turn, until there is nothing: then nobody has anything in reserve. */
static void *fill(void *argument)
{
	struct fighter *fighter = argument;
	struct arena *arena = fighter->arena;

	for (unsigned int index = 0;; index = (index + 1) % FILES) {
		struct one_file *file = &fighter->files[index];
		struct ext2mb_extent extent;

		if (!file->file)
			open_one(fighter, file);
		struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = file->end,
			.count = UINT64_C(1) << arena->space.cluster_bits,
		};
		errcode_t error = ext2mb_file_alloc(fighter->worker, file->file, &request, &extent);
		if (error == EXT2MB_ET_NO_SPACE)
			return NULL;
		ck_assert_ok(error);
		space_change(&arena->space, &extent, 0, 1);
		file->end += extent.count;
		fighter->handed_out += extent.count >> arena->space.cluster_bits;
	}
}

START_TEST(test_last_cluster)
{
	static struct fighter fighters[8];
	struct random random = random_start("last cluster");
	struct arena arena = { 0 };
	uint64_t handed_out = 0;

	memset(fighters, 0, sizeof(fighters));
	mb_image_make(fights[_i].options, fights[_i].size);
	ext2_filsys fs = mb_image_open();
	space_open(&arena.space, fs);
	ck_assert_ok(policy_open(fs, &fights[_i].choices, &arena.mb));
	run_fighters(fighters, 8, &arena, &random, fill);
	for (unsigned int number = 0; number < 8; number++)
		handed_out += fighters[number].handed_out;
	ck_assert_uint_eq(handed_out, (uint64_t)arena.space.credits);
	ck_assert_uint_eq(ext2mb_free_blocks(arena.mb), 0);
	ck_assert_uint_eq(ext2mb_reserved_blocks(arena.mb), 0);
	mb_check(arena.mb);
	for (unsigned int number = 0; number < 8; number++) {
		for (unsigned int index = 0; index < FILES; index++)
			ext2mb_file_close(fighters[number].worker, fighters[number].files[index].file);
		ext2mb_worker_close(fighters[number].worker);
	}
	ext2mb_close(arena.mb);
	ck_assert_ok(ext2fs_close(fs));
	space_close(&arena.space);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_windows");
	TCase *tests = tcase_create("windows");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_pressure, 0, sizeof(fights) / sizeof(*fights));
	tcase_add_test(tests, test_given_back);
	tcase_add_loop_test(tests, test_free_blocks, 0, 2);
	tcase_add_loop_test(tests, test_last_cluster, 0, sizeof(fights) / sizeof(*fights));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
