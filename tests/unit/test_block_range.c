/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that the caller names: looking at them, taking them, and giving the last ones back at once. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#define FILES 8

enum { FREE, USED, PENDING };

static struct {
	struct small_image image;
	struct random random;
	struct ext2mb_file *files[FILES];
	uint64_t ends[FILES];
	uint8_t *map; /* by block */
	uint64_t first;
	uint64_t blocks;
	uint64_t cluster_blocks;
	struct ext2mb_extent last; /* what the worker may give back */
} books;

static void open_books(const char *options, const char *size, const struct ext2mb_options *allocator)
{
	struct ext2mb_options options_with_size = allocator ? *allocator : (struct ext2mb_options){ 0 };
	struct ext2mb_extent extent = { 0 };

	options_with_size.struct_bytes = sizeof(options_with_size);
	memset(&books, 0, sizeof(books));
	books.random = random_start("block range");
	mb_image_make(options, size);
	small_image_open(&books.image, &options_with_size);
	books.first = books.image.fs->super->s_first_data_block;
	books.blocks = ext2fs_blocks_count(books.image.fs->super);
	books.cluster_blocks = (uint64_t)EXT2FS_CLUSTER_RATIO(books.image.fs);
	books.map = malloc(books.blocks);
	memset(books.map, USED, books.blocks);
	while (!ext2mb_next_free(books.image.mb, extent.start + extent.count, &extent))
		memset(books.map + extent.start, FREE, extent.count);
}

static void close_books(void)
{
	for (unsigned int index = 0; index < FILES; index++)
		ext2mb_file_close(books.image.worker, books.files[index]);
	mb_check(books.image.mb);
	ext2mb_worker_close(books.image.worker);
	ext2mb_close(books.image.mb);
	ck_assert_ok(ext2fs_close(books.image.fs));
	free(books.map);
}

static bool all_are(uint64_t start, uint64_t count, int state)
{
	for (uint64_t block = start; block < start + count; block++)
		if (books.map[block] != state)
			return false;
	return true;
}

/* Any range of whole clusters. */
static struct ext2mb_extent any_range(uint64_t most_clusters)
{
	uint64_t clusters = (books.blocks - books.first) / books.cluster_blocks;
	uint64_t start = random_below(&books.random, clusters);
	uint64_t most = clusters - start < most_clusters ? clusters - start : most_clusters;

	return (struct ext2mb_extent){ books.first + start * books.cluster_blocks,
		                       (1 + random_below(&books.random, most)) * books.cluster_blocks };
}

static void append(void)
{
	unsigned int index = (unsigned int)random_below(&books.random, FILES);
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 + index, .parent = 2 + index % 3 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .logical = books.ends[index] };
	struct ext2mb_extent extent;

	if (!books.files[index])
		ck_assert_ok(ext2mb_file_open(books.image.worker, &info, &books.files[index]));
	request.count = (1 + random_below(&books.random, index % 2 ? 3 : 40)) * books.cluster_blocks;
	if (ext2mb_file_alloc(books.image.worker, books.files[index], &request, &extent))
		return;
	ck_assert(all_are(extent.start, extent.count, FREE));
	memset(books.map + extent.start, USED, extent.count);
	books.ends[index] += extent.count;
}

static void allocate(void)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request) };

	request.count = (1 + random_below(&books.random, 100)) * books.cluster_blocks;
	if (ext2mb_alloc(books.image.worker, &request, &books.last))
		return;
	ck_assert(all_are(books.last.start, books.last.count, FREE));
	memset(books.map + books.last.start, USED, books.last.count);
}

/* A part of the last hand-out, or what is none. */
static void give_back(void)
{
	uint64_t clusters = books.last.count / books.cluster_blocks, from = 0, count = clusters;
	struct ext2mb_extent part = any_range(4);
	errcode_t expected = EXT2MB_ET_BAD_RANGE;

	if (clusters && random_below(&books.random, 4)) {
		switch (random_below(&books.random, 3)) {
		case 0: /* the front */
			count = 1 + random_below(&books.random, clusters);
			break;
		case 1: /* the end */
			from = random_below(&books.random, clusters);
			count = clusters - from;
			break;
		default:
			from = random_below(&books.random, clusters);
			count = 1 + random_below(&books.random, clusters - from);
		}
		part = (struct ext2mb_extent){ books.last.start + from * books.cluster_blocks,
			                       count * books.cluster_blocks };
	}
	if (part.start >= books.last.start && part.start + part.count <= books.last.start + books.last.count) {
		expected = 0;
		for (uint64_t block = part.start; block < part.start + part.count; block++)
			if (books.map[block] == PENDING)
				expected = EXT2MB_ET_DOUBLE_FREE;
	}
	uint64_t free_blocks = ext2mb_free_blocks(books.image.mb);
	ck_assert_error(ext2mb_give_back(books.image.worker, part.start, part.count), expected);
	ck_assert_uint_eq(ext2mb_free_blocks(books.image.mb), free_blocks + (expected ? 0 : part.count));
	if (expected)
		return;
	memset(books.map + part.start, FREE, part.count);
	if (part.start == books.last.start) {
		books.last.start += part.count;
		books.last.count -= part.count;
	} else {
		books.last.count = part.start - books.last.start;
	}
}

static void mark(void)
{
	struct ext2mb_extent range = any_range(random_below(&books.random, 10) ? 20 : 3000);
	bool expected = all_are(range.start, range.count, FREE);
	uint64_t free_blocks = ext2mb_free_blocks(books.image.mb), reserved = ext2mb_reserved_blocks(books.image.mb);

	ck_assert_error(ext2mb_mark_used(books.image.worker, range.start, range.count),
	                expected ? 0 : EXT2MB_ET_NO_SPACE);
	if (expected) {
		memset(books.map + range.start, USED, range.count);
	} else {
		ck_assert_uint_eq(ext2mb_free_blocks(books.image.mb), free_blocks);
		ck_assert_uint_eq(ext2mb_reserved_blocks(books.image.mb), reserved);
	}
}

static void make_room(void)
{
	struct ext2mb_extent range = any_range(60);

	for (uint64_t block = range.start; block < range.start + range.count; block += books.cluster_blocks)
		if (books.map[block] == USED && !ext2mb_free(books.image.worker, block, books.cluster_blocks))
			memset(books.map + block, PENDING, books.cluster_blocks);
	if (random_below(&books.random, 3))
		return;
	ck_assert_ok(ext2mb_commit(books.image.mb));
	for (uint64_t block = 0; block < books.blocks; block++)
		if (books.map[block] == PENDING)
			books.map[block] = FREE;
	books.last.count = 0;
}

/* All of the filesystem, run by run: each as long as it can be, and as the books have it. */
static void look(void)
{
	uint64_t alike, counts[EXT2MB_BLOCKS_USED + 1] = { 0 };
	int previous = -1;

	for (uint64_t block = books.first; block < books.blocks; block += alike) {
		enum ext2mb_block_use use;
		uint64_t most = books.blocks - block;

		ck_assert_ok(
			ext2mb_query_blocks(books.image.mb, block, most - most % books.cluster_blocks, &use, &alike));
		ck_assert_uint_gt(alike, 0);
		ck_assert_int_ne((int)use, previous);
		previous = (int)use;
		counts[use] += alike;
		for (uint64_t other = block; other < block + alike; other++)
			ck_assert_int_eq(books.map[other] == FREE, use != EXT2MB_BLOCKS_USED);
		/* Asked for less, no more than that is looked at. */
		uint64_t fewer = (1 + random_below(&books.random, alike / books.cluster_blocks)) * books.cluster_blocks;
		uint64_t seen;
		ck_assert_ok(ext2mb_query_blocks(books.image.mb, block, fewer, &use, &seen));
		ck_assert_uint_eq(seen, fewer);
		ck_assert_int_eq((int)use, previous);
	}
	ck_assert_uint_eq(counts[EXT2MB_BLOCKS_FREE], ext2mb_free_blocks(books.image.mb));
	ck_assert_uint_eq(counts[EXT2MB_BLOCKS_RESERVED], ext2mb_reserved_blocks(books.image.mb));
}

START_TEST(test_model)
{
	static const struct {
		const char *options, *size;
	} shapes[] = {
		{ "-t ext4 -b 1024 -g 1024 -O ^has_journal", "9M" },
		{ "-t ext4 -b 1024 -O ^has_journal,bigalloc -C 4096 -g 4096", "30M" },
	};
	static const struct ext2mb_options choices[] = { { 0 },
		                                         { .locality = EXT2MB_LOCALITY_THREAD },
		                                         { .normalization = EXT2MB_NORMALIZE_TABLE } };

	open_books(shapes[_i % 2].options, shapes[_i % 2].size, &choices[_i / 2]);
	for (uint64_t number = 0; number < mb_operations(4000); number++) {
		switch (random_below(&books.random, 12)) {
		case 0:
			mark();
			break;
		case 1:
			make_room();
			break;
		case 2:
		case 3:
			give_back();
			break;
		case 4:
			if (!random_below(&books.random, 20)) {
				uint64_t reserved = ext2mb_reserved_blocks(books.image.mb);
				ck_assert_uint_eq(ext2mb_discard_preallocations(books.image.worker), reserved);
				ck_assert_uint_eq(ext2mb_reserved_blocks(books.image.mb), 0);
			}
			break;
		case 5:
		case 6:
			allocate();
			break;
		default:
			append();
		}
		if (number % 100 == 0)
			look();
	}
	close_books();
}
END_TEST

START_TEST(test_refusals)
{
	enum ext2mb_block_use use;
	uint64_t alike;

	open_books("-t ext4 -b 1024 -O ^has_journal,bigalloc -C 4096 -g 4096", "30M", NULL);
	const uint64_t end = books.first + (books.blocks - books.first) / 4 * 4;
	const struct ext2mb_extent wrong[] = {
		{ books.first, 0 },    { books.first + 1, 4 },         { books.first, 3 }, { end, 4 }, { end - 4, 8 },
		{ UINT64_MAX - 3, 4 }, { books.first, UINT64_MAX - 3 }
	};
	for (size_t index = 0; index < sizeof(wrong) / sizeof(*wrong); index++) {
		const struct ext2mb_extent *range = &wrong[index];

		ck_assert_error(ext2mb_query_blocks(books.image.mb, range->start, range->count, &use, &alike),
		                EXT2MB_ET_BAD_RANGE);
		ck_assert_error(ext2mb_mark_used(books.image.worker, range->start, range->count), EXT2MB_ET_BAD_RANGE);
		ck_assert_error(ext2mb_give_back(books.image.worker, range->start, range->count), EXT2MB_ET_BAD_RANGE);
	}
	/* The filesystem's own are in use. */
	ck_assert_ok(ext2mb_query_blocks(books.image.mb, books.first, 4, &use, &alike));
	ck_assert_int_eq(use, EXT2MB_BLOCKS_USED);
	ck_assert_error(ext2mb_mark_used(books.image.worker, books.first, 4), EXT2MB_ET_NO_SPACE);
	close_books();
}
END_TEST

/* Freed by another worker and handed out to it again: no longer the first worker's, whose last extent it was. */
START_TEST(test_passed_on)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 8, .flags = EXT2MB_ALLOC_WHOLE };
	struct ext2mb_extent first, second;
	struct ext2mb_worker *other;

	open_books("-t ext4 -b 1024 -g 1024 -O ^has_journal", "9M", NULL);
	ck_assert_ok(ext2mb_worker_open(books.image.mb, &other));
	ck_assert_ok(ext2mb_alloc(books.image.worker, &request, &first));
	ck_assert_error(ext2mb_give_back(other, first.start, first.count), EXT2MB_ET_BAD_RANGE);
	ck_assert_ok(ext2mb_free(other, first.start, first.count));
	ck_assert_error(ext2mb_give_back(books.image.worker, first.start, first.count), EXT2MB_ET_DOUBLE_FREE);
	ck_assert_ok(ext2mb_commit(books.image.mb));
	request.goal = first.start;
	ck_assert_ok(ext2mb_alloc(other, &request, &second));
	ck_assert_uint_eq(second.start, first.start);
	ck_assert_error(ext2mb_give_back(books.image.worker, first.start, first.count), EXT2MB_ET_BAD_RANGE);
	/* What was given back is the next request's. */
	request.goal = 0;
	ck_assert_ok(ext2mb_alloc(books.image.worker, &request, &first));
	ck_assert_ok(ext2mb_give_back(books.image.worker, first.start + 3, 5));
	ck_assert_ok(ext2mb_alloc(books.image.worker, &request, &second));
	ck_assert_uint_eq(second.start, first.start + 3);
	ext2mb_worker_close(other);
	close_books();
}
END_TEST

#define THREADS 4

static _Atomic uint8_t *owners;

/* Takes, marks, asks and gives back, and never gets what another thread has. */
static void *contend(void *argument)
{
	struct random random = { (uint64_t)(uintptr_t)argument * 7919 + 1 };
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .least_blocks = 1 };
	struct ext2mb_worker *worker;

	ck_assert_ok(ext2mb_worker_open(books.image.mb, &worker));
	for (uint64_t number = 0; number < mb_operations(8000); number++) {
		enum ext2mb_block_use use;
		struct ext2mb_extent extent;
		uint64_t alike;

		request.count = 1 + random_below(&random, 50);
		if (random_below(&random, 2)) {
			extent.start = books.first + random_below(&random, books.blocks - books.first - 100);
			extent.count = request.count;
			ck_assert_ok(ext2mb_query_blocks(books.image.mb, extent.start, extent.count, &use, &alike));
			if (ext2mb_mark_used(worker, extent.start, extent.count))
				continue;
		} else if (ext2mb_alloc(worker, &request, &extent)) {
			continue;
		}
		for (uint64_t block = extent.start; block < extent.start + extent.count; block++)
			ck_assert_uint_eq(atomic_exchange(&owners[block], 1), 0);
		ck_assert_ok(ext2mb_query_blocks(books.image.mb, extent.start, extent.count, &use, &alike));
		ck_assert(use == EXT2MB_BLOCKS_USED && alike == extent.count);
		for (uint64_t block = extent.start; block < extent.start + extent.count; block++)
			atomic_store(&owners[block], 0);
		/* A commit of another thread, or a mark, may have come between. */
		if (ext2mb_give_back(worker, extent.start, extent.count))
			ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
		if (number % 64 == 0)
			ck_assert_ok(ext2mb_commit(books.image.mb));
	}
	ext2mb_worker_close(worker);
	return NULL;
}

START_TEST(test_threads)
{
	pthread_t threads[THREADS];

	open_books("-t ext4 -b 1024 -g 1024 -O ^has_journal", "4M", NULL);
	owners = calloc(books.blocks, sizeof(*owners));
	uint64_t free_blocks = ext2mb_free_blocks(books.image.mb);
	for (uintptr_t number = 0; number < THREADS; number++)
		ck_assert_int_eq(pthread_create(&threads[number], NULL, contend, (void *)number), 0);
	for (unsigned int number = 0; number < THREADS; number++)
		pthread_join(threads[number], NULL);
	ck_assert_ok(ext2mb_commit(books.image.mb));
	ck_assert_uint_eq(ext2mb_free_blocks(books.image.mb), free_blocks);
	free((void *)owners);
	close_books();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block_range");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_model, 0, 6);
	tcase_add_test(tests, test_refusals);
	tcase_add_test(tests, test_passed_on);
	tcase_add_test(tests, test_threads);
	return run_suite(suite);
}
