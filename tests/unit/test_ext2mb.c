/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random operations on real filesystems of many geometries against a model that is an array of bytes. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

struct geometry_case {
	const char *options;
	const char *size;
	int loads_bitmaps; /* libext2fs has its bitmaps in memory while the allocator works */
};

/* Small groups make many of them in a small image. The odd sizes leave the last group short. */
static const struct geometry_case cases[] = {
	{ "-t ext4 -b 4096 -g 2048", "301M", 0 },
	{ "-t ext4 -b 4096", "301M", 1 },
	{ "-t ext4 -b 1024", "67003K", 0 },
	{ "-t ext4 -b 1024 -O ^flex_bg,^64bit", "50001K", 1 },
	{ "-t ext4 -b 2048 -O ^metadata_csum,uninit_bg -g 4096", "121M", 0 },
	{ "-t ext4 -b 4096 -O bigalloc -C 16384 -g 32768", "702M", 0 },
	{ "-t ext4 -b 1024 -O bigalloc -C 16384", "1G", 1 },
	{ "-t ext4 -b 4096 -O meta_bg,^resize_inode -g 1024", "150M", 0 },
	{ "-t ext4 -b 65536 -g 4096", "2000M", 0 },
	{ "-t ext2 -b 1024", "40001K", 0 },
	{ "-t ext3 -b 4096 -g 512", "90M", 0 },
};

enum { FREE, FOREIGN, OWNED, PENDING };

struct model {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	ext2_filsys fs;
	struct random random;
	uint64_t first_block;
	unsigned int cluster_bits;
	uint32_t clusters_per_group;
	uint8_t *clusters;
	uint64_t count;
	uint64_t free_clusters;
	struct ext2mb_extent *owned; /* in clusters */
	size_t owned_count;
};

static uint64_t block_of(const struct model *model, uint64_t cluster)
{
	return model->first_block + (cluster << model->cluster_bits);
}

static uint64_t cluster_of(const struct model *model, uint64_t block)
{
	return (block - model->first_block) >> model->cluster_bits;
}

static void open_model(struct model *model, const struct geometry_case *geometry)
{
	mb_image_make(geometry->options, geometry->size);
	model->clusters = mb_image_read_clusters(&model->count);
	model->fs = mb_image_open();
	if (geometry->loads_bitmaps)
		ck_assert_ok(ext2fs_read_bitmaps(model->fs));
	ck_assert_ok(policy_open(model->fs, mb_options(), &model->mb));
	ck_assert_ok(ext2mb_worker_open(model->mb, &model->worker));
	model->first_block = model->fs->super->s_first_data_block;
	model->cluster_bits = (unsigned int)model->fs->cluster_ratio_bits;
	model->clusters_per_group = model->fs->super->s_clusters_per_group;
	model->owned = calloc(model->count, sizeof(*model->owned));
	for (uint64_t cluster = 0; cluster < model->count; cluster++)
		model->free_clusters += model->clusters[cluster] == FREE;
	ck_assert_uint_eq(ext2mb_free_blocks(model->mb), model->free_clusters << model->cluster_bits);
}

/* The end of the run of free clusters at `start`, no farther than its group or limit. */
static uint64_t run_end(const struct model *model, uint64_t start, uint64_t limit)
{
	uint64_t group_end = (start / model->clusters_per_group + 1) * model->clusters_per_group;
	uint64_t end = start;

	if (limit > group_end)
		limit = group_end;
	while (end < limit && model->clusters[end] == FREE)
		end++;
	return end;
}

static uint64_t first_free(const struct model *model, uint64_t from, uint64_t limit)
{
	while (from < limit && model->clusters[from] != FREE)
		from++;
	return from;
}

static bool has_run(const struct model *model, uint64_t count)
{
	uint64_t start = first_free(model, 0, model->count);

	while (start < model->count) {
		uint64_t end = run_end(model, start, model->count);

		if (end - start >= count)
			return true;
		start = first_free(model, end, model->count);
	}
	return false;
}

/* Nothing more precise is promised of an ordinary request than that it gets something if there is anything. */
static void expect_no_space(const struct model *model, const struct ext2mb_request *request, uint64_t count)
{
	uint64_t goal = request->goal < model->first_block ? 0 : cluster_of(model, request->goal);

	if (request->flags & EXT2MB_ALLOC_GOAL_ONLY) {
		uint64_t end = run_end(model, goal, model->count);
		ck_assert(end == goal || (request->flags & EXT2MB_ALLOC_WHOLE && end - goal < count));
	} else if (request->flags & EXT2MB_ALLOC_WHOLE) {
		ck_assert(!has_run(model, count));
	} else {
		ck_assert_uint_eq(model->free_clusters, 0);
	}
}

static void expect_packed(const struct model *model, const struct ext2mb_request *request, errcode_t error,
                          uint64_t start, uint64_t count, uint64_t asked)
{
	uint64_t limit = request->limit ? cluster_of(model, request->limit) : model->count;
	uint64_t goal = request->goal <= model->first_block ?
	                        0 :
	                        cluster_of(model, request->goal + (UINT64_C(1) << model->cluster_bits) - 1);
	uint64_t expected = first_free(model, goal, limit);

	if (error) {
		ck_assert_int_eq(error, EXT2MB_ET_NO_SPACE);
		ck_assert_uint_eq(expected, limit > goal ? limit : goal);
		return;
	}
	uint64_t end = run_end(model, expected, limit);
	ck_assert_uint_eq(start, expected);
	ck_assert_uint_eq(count, end - expected < asked ? end - expected : asked);
}

static uint32_t random_flags(struct random *random)
{
	static const uint32_t flags[] = {
		0,
		0,
		EXT2MB_ALLOC_STREAM,
		EXT2MB_ALLOC_STREAM,
		EXT2MB_ALLOC_PACK,
		EXT2MB_ALLOC_PACK,
		EXT2MB_ALLOC_GOAL_ONLY,
		EXT2MB_ALLOC_GOAL_ONLY | EXT2MB_ALLOC_WHOLE,
		EXT2MB_ALLOC_WHOLE,
		EXT2MB_ALLOC_WHOLE | EXT2MB_ALLOC_STREAM,
	};

	return flags[random_below(random, sizeof(flags) / sizeof(*flags))];
}

static void allocate(struct model *model)
{
	struct random *random = &model->random;
	uint64_t count = 1 + random_below(random, UINT64_C(1) << random_below(random, 14));
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = count << model->cluster_bits,
		.stream = random_below(random, 100),
		.flags = random_flags(random),
	};
	struct ext2mb_extent extent = { 0 };

	if (random_below(random, 3))
		request.goal = block_of(model, random_below(random, model->count));
	if (request.flags & EXT2MB_ALLOC_PACK && random_below(random, 2)) {
		request.goal += random_below(random, UINT64_C(1) << model->cluster_bits);
		request.limit = block_of(model, 1 + random_below(random, model->count));
	}
	errcode_t error = ext2mb_alloc(model->worker, &request, &extent);
	uint64_t start = cluster_of(model, extent.start);
	uint64_t got = extent.count >> model->cluster_bits;

	if (request.flags & EXT2MB_ALLOC_PACK)
		expect_packed(model, &request, error, start, got, count);
	if (request.flags & EXT2MB_ALLOC_WHOLE && count > model->clusters_per_group) {
		ck_assert_int_eq(error, EXT2MB_ET_BAD_ARGUMENT);
		return;
	}
	if (error) {
		ck_assert_int_eq(error, EXT2MB_ET_NO_SPACE);
		if (!(request.flags & EXT2MB_ALLOC_PACK))
			expect_no_space(model, &request, count);
		return;
	}
	ck_assert_uint_eq(block_of(model, start), extent.start);
	ck_assert_uint_eq(got << model->cluster_bits, extent.count);
	ck_assert(got >= 1 && got <= count && start + got <= model->count);
	if (request.flags & EXT2MB_ALLOC_WHOLE)
		ck_assert_uint_eq(got, count);
	if (request.flags & EXT2MB_ALLOC_GOAL_ONLY)
		ck_assert_uint_eq(extent.start, request.goal);
	ck_assert_uint_ge(run_end(model, start, start + got), start + got);
	memset(model->clusters + start, OWNED, got);
	model->free_clusters -= got;
	model->owned[model->owned_count++] = (struct ext2mb_extent){ start, got };
}

/* Frees some of an extent that is owned; what is left of it stays on the list. */
static void release(struct model *model)
{
	struct random *random = &model->random;

	if (!model->owned_count)
		return;
	size_t index = random_below(random, model->owned_count);
	struct ext2mb_extent extent = model->owned[index];
	uint64_t skip = random_below(random, 2) ? random_below(random, extent.count) : 0;
	uint64_t count = random_below(random, 2) ? 1 + random_below(random, extent.count - skip) : extent.count - skip;
	uint64_t tail = extent.count - skip - count;

	ck_assert_ok(ext2mb_free(model->worker, block_of(model, extent.start + skip), count << model->cluster_bits));
	memset(model->clusters + extent.start + skip, PENDING, count);
	model->owned[index] = model->owned[--model->owned_count];
	if (skip)
		model->owned[model->owned_count++] = (struct ext2mb_extent){ extent.start, skip };
	if (tail)
		model->owned[model->owned_count++] = (struct ext2mb_extent){ extent.start + skip + count, tail };
}

static void commit(struct model *model)
{
	ck_assert_ok(ext2mb_commit(model->mb));
	for (uint64_t cluster = 0; cluster < model->count; cluster++) {
		if (model->clusters[cluster] != PENDING)
			continue;
		model->clusters[cluster] = FREE;
		model->free_clusters++;
	}
}

/* A range that is partly not in use must be refused, and nothing of it freed. */
static void release_wrongly(struct model *model)
{
	struct random *random = &model->random;
	uint64_t start = random_below(random, model->count);
	uint64_t count = 1 + random_below(random, 3 * model->clusters_per_group);
	bool is_wrong = start + count > model->count;

	for (uint64_t cluster = start; cluster < start + count && !is_wrong; cluster++)
		is_wrong = model->clusters[cluster] == FREE || model->clusters[cluster] == PENDING;
	if (!is_wrong)
		return;
	errcode_t error = ext2mb_free(model->worker, block_of(model, start), count << model->cluster_bits);
	if (start + count > model->count)
		ck_assert_error(error, EXT2MB_ET_BAD_RANGE);
	else
		ck_assert(error == EXT2MB_ET_DOUBLE_FREE || error == EXT2MB_ET_METADATA_FREE);
}

static void look_ahead(struct model *model)
{
	uint64_t from = random_below(&model->random, model->count);
	uint64_t start = first_free(model, from, model->count);
	struct ext2mb_extent extent;
	errcode_t error = ext2mb_next_free(model->mb, block_of(model, from), &extent);

	if (start == model->count) {
		ck_assert_error(error, EXT2MB_ET_NO_SPACE);
		return;
	}
	ck_assert_ok(error);
	ck_assert_uint_eq(extent.start, block_of(model, start));
	ck_assert_uint_eq(extent.count, (run_end(model, start, model->count) - start) << model->cluster_bits);
}

static void operate(struct model *model)
{
	switch (random_below(&model->random, 16)) {
	case 0 ... 8:
		allocate(model);
		break;
	case 9 ... 13:
		release(model);
		break;
	case 14:
		look_ahead(model);
		release_wrongly(model);
		break;
	default:
		if (random_below(&model->random, 8) == 0)
			commit(model);
	}
	ck_assert_uint_eq(ext2mb_free_blocks(model->mb), model->free_clusters << model->cluster_bits);
}

/* What is on disk must be what was there before and what is owned now. */
static void compare_with_disk(const struct model *model)
{
	uint64_t count;
	uint8_t *clusters = mb_image_read_clusters(&count);

	ck_assert_uint_eq(count, model->count);
	for (uint64_t cluster = 0; cluster < count; cluster++)
		if (clusters[cluster] != (model->clusters[cluster] != FREE))
			ck_abort_msg("cluster %llu is %d on disk, %d here", (unsigned long long)cluster,
			             clusters[cluster], model->clusters[cluster]);
	free(clusters);
}

#define EXTENTS_TO_ATTACH 300

/* So that the files that are to hold them need no more inodes and directory blocks than there are. */
static void keep_few(struct model *model)
{
	uint64_t limit = 12 * (uint64_t)EXTENTS_TO_ATTACH;
	uint64_t kept = 0;
	size_t left = 0;

	for (size_t index = 0; index < model->owned_count; index++) {
		struct ext2mb_extent extent = model->owned[index];

		if (left < EXTENTS_TO_ATTACH && kept + extent.count < limit) {
			model->owned[left++] = extent;
			kept += extent.count;
			continue;
		}
		ck_assert_ok(
			ext2mb_free(model->worker, block_of(model, extent.start), extent.count << model->cluster_bits));
		memset(model->clusters + extent.start, PENDING, extent.count);
	}
	model->owned_count = left;
	commit(model);
}

static void close_model(struct model *model)
{
	ck_assert_ok(ext2mb_sync(model->mb));
	mb_check(model->mb);
	ext2mb_worker_close(model->worker);
	ext2mb_close(model->mb);
	ck_assert_ok(ext2fs_flush(model->fs));
	compare_with_disk(model);
	for (size_t index = 0; index < model->owned_count; index++) {
		model->owned[index].start = block_of(model, model->owned[index].start);
		model->owned[index].count <<= model->cluster_bits;
	}
	mb_image_attach(model->fs, model->owned, model->owned_count);
	ck_assert_ok(ext2fs_close(model->fs));
	mb_image_check();
	free(model->clusters);
	free(model->owned);
}

/* TEST_CASES=even or odd: every other one, of tests/policies. */
static bool is_left_out(int number)
{
	const char *text = getenv("TEST_CASES");

	return text && *text && strcmp(text, number % 2 ? "odd" : "even") != 0;
}

START_TEST(test_model)
{
	if (is_left_out(_i))
		return;
	struct model model = { .random = random_start(cases[_i].options) };
	uint64_t operations = mb_operations(4000);

	open_model(&model, &cases[_i]);
	for (uint64_t operation = 0; operation < operations; operation++) {
		operate(&model);
		if (operation % (operations / 8 + 1) == 0)
			mb_check(model.mb);
		if (operation == operations / 2) {
			ck_assert_ok(ext2mb_sync(model.mb));
			commit(&model);
			ck_assert_ok(ext2fs_flush(model.fs));
			compare_with_disk(&model);
		}
	}
	keep_few(&model);
	close_model(&model);
}
END_TEST

/* Every cluster can be had, one request at a time, and then none. */
START_TEST(test_last_cluster)
{
	if (is_left_out(_i))
		return;
	struct model model = { .random = random_start("last cluster") };

	open_model(&model, &cases[_i]);
	while (model.free_clusters) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.count = UINT64_C(3000) << model.cluster_bits,
			.stream = random_below(&model.random, 9),
			.flags = random_below(&model.random, 2) ? EXT2MB_ALLOC_STREAM : 0,
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_alloc(model.worker, &request, &extent));
		uint64_t start = cluster_of(&model, extent.start);
		uint64_t count = extent.count >> model.cluster_bits;
		ck_assert_uint_ge(run_end(&model, start, start + count), start + count);
		memset(model.clusters + start, OWNED, count);
		model.free_clusters -= count;
		model.owned[model.owned_count++] = (struct ext2mb_extent){ start, count };
	}
	struct ext2mb_request one = { .struct_bytes = sizeof(one), .count = UINT64_C(1) << model.cluster_bits };
	struct ext2mb_extent extent;
	ck_assert_error(ext2mb_alloc(model.worker, &one, &extent), EXT2MB_ET_NO_SPACE);
	mb_check(model.mb);
	keep_few(&model);
	close_model(&model);
}
END_TEST

static Suite *ext2mb_suite(void)
{
	Suite *suite = suite_create("ext2mb");
	TCase *model = tcase_create("model");

	tcase_add_unchecked_fixture(model, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(model, 3600);
	tcase_add_loop_test(model, test_model, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(model, test_last_cluster, 0, sizeof(cases) / sizeof(*cases));
	suite_add_tcase(suite, model);
	return suite;
}

int main(void)
{
	return run_suite(ext2mb_suite());
}
