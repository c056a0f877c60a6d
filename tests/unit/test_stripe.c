/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is as long as stripes lies on stripes, wherever that is possible, and is had all the same where it is not. */
#include <stdbool.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

/* For its trimming alone. */
#include "../../lib/allocator/search/scan.c"

struct stripe_case {
	const char *options;
	const char *size;
	uint32_t stripe; /* blocks */
};

static const struct stripe_case cases[] = {
	{ "-t ext4 -b 4096 -g 4096 -O ^has_journal -E stride=8,stripe_width=32", "200M", 32 },
	{ "-t ext4 -b 4096 -g 4096 -O ^has_journal -E stride=16,stripe_width=48", "200M", 48 },
	{ "-t ext4 -b 1024 -O ^has_journal -E stride=8,stripe_width=16", "80001K", 16 }, /* the first block is 1 */
	{ "-t ext4 -b 1024 -O ^has_journal -E stride=24", "80001K", 24 },
	{ "-t ext4 -b 4096 -O bigalloc,^has_journal -C 16384 -g 8192 -E stride=16,stripe_width=64", "800M", 64 },
	/* The width is longer than a group, or cuts clusters. */
	{ "-t ext4 -b 4096 -g 4096 -O ^has_journal -E stride=16,stripe_width=8000", "200M", 16 },
	{ "-t ext4 -b 4096 -O bigalloc,^has_journal -C 16384 -g 8192 -E stride=16,stripe_width=6", "800M", 16 },
};

static struct {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	ext2_filsys fs;
	uint64_t first;
	uint64_t blocks;
	uint64_t cluster_blocks;
	uint64_t group_blocks;
	uint8_t *used; /* by block */
} test;

static void open_test(const struct stripe_case *geometry, uint32_t stripe_blocks)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .stripe_blocks = stripe_blocks };
	uint64_t count;

	mb_image_make(geometry->options, geometry->size);
	uint8_t *clusters = mb_image_read_clusters(&count);
	test.fs = mb_image_open();
	test.first = test.fs->super->s_first_data_block;
	test.blocks = ext2fs_blocks_count(test.fs->super);
	test.cluster_blocks = (uint64_t)EXT2FS_CLUSTER_RATIO(test.fs);
	test.group_blocks = test.fs->super->s_blocks_per_group;
	test.used = calloc(test.blocks, 1);
	for (uint64_t block = test.first; block < test.blocks; block++)
		test.used[block] = clusters[(block - test.first) / test.cluster_blocks];
	free(clusters);
	ck_assert_ok(ext2mb_open(test.fs, &options, &test.mb));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
}

static void close_test(void)
{
	mb_check(test.mb);
	ext2mb_worker_close(test.worker);
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
	free(test.used);
}

static errcode_t ask(uint64_t goal, uint64_t count, uint32_t flags, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request), .goal = goal, .count = count, .flags = flags
	};
	errcode_t error = ext2mb_alloc(test.worker, &request, extent);

	if (error)
		return error;
	for (uint64_t block = extent->start; block < extent->start + extent->count; block++)
		ck_assert_msg(!test.used[block], "block %llu was in use", (unsigned long long)block);
	memset(test.used + extent->start, 1, extent->count);
	return 0;
}

static bool is_free(uint64_t start, uint64_t count)
{
	return !memchr(test.used + start, 1, count);
}

/*
 * Whether a group has `count` free blocks in a row that begin at a multiple of stripe. Only groups whose average run
 * is as long as the request count: others are not looked into for stripes.
 */
static bool group_has(uint64_t start, uint64_t end, uint64_t count, uint64_t stripe, bool needs_average)
{
	uint64_t free_blocks = 0;
	uint64_t runs = 0;

	for (uint64_t block = start; block < end; block++) {
		free_blocks += !test.used[block];
		runs += !test.used[block] && (block == start || test.used[block - 1]);
	}
	if (!free_blocks || (needs_average && free_blocks < count * runs))
		return false;
	for (uint64_t block = (start + stripe - 1) / stripe * stripe; block + count <= end; block += stripe)
		if (is_free(block, count))
			return true;
	return false;
}

static bool any_group_has(uint64_t count, uint64_t stripe, bool needs_average)
{
	for (uint64_t start = test.first; start < test.blocks; start += test.group_blocks) {
		uint64_t end = start + test.group_blocks < test.blocks ? start + test.group_blocks : test.blocks;

		if (group_has(start, end, count, stripe, needs_average))
			return true;
	}
	return false;
}

static void ask_for_stripes(struct random *random, uint64_t stripe)
{
	uint64_t stripes = 1 + random_below(random, 4);
	uint64_t count = stripes * stripe;
	uint64_t goal = 0;
	struct ext2mb_extent extent;

	if (random_below(random, 2))
		goal = test.first +
		       random_below(random, (test.blocks - test.first) / test.cluster_blocks) * test.cluster_blocks;
	if (stripes > 1)
		goal -= goal % stripe;
	bool has_stripes = any_group_has(count, stripe, true);
	bool has_run = any_group_has(count, test.cluster_blocks, false);
	bool is_whole = random_below(random, 2);
	errcode_t error = ask(goal, count, is_whole ? EXT2MB_ALLOC_WHOLE : 0, &extent);
	if (error) {
		ck_assert_error(error, EXT2MB_ET_NO_SPACE);
		ck_assert(is_whole ? !has_run : !any_group_has(test.cluster_blocks, test.cluster_blocks, false));
		return;
	}
	if (has_stripes && (extent.start % stripe || extent.count != count))
		ck_abort_msg("%llu blocks at %llu instead of %llu on a stripe", (unsigned long long)extent.count,
		             (unsigned long long)extent.start, (unsigned long long)count);
	if (is_whole)
		ck_assert_uint_eq(extent.count, count);
}

static void give_some(struct random *random, const uint8_t *was_used)
{
	uint64_t clusters = (test.blocks - test.first) / test.cluster_blocks;
	uint64_t start = test.first + random_below(random, clusters) * test.cluster_blocks;
	uint64_t most = start + (1 + random_below(random, 200)) * test.cluster_blocks;
	uint64_t end = start;

	while (end < most && end < test.blocks && test.used[end] && !was_used[end])
		end += test.cluster_blocks;
	if (end == start)
		return;
	ck_assert_ok(ext2mb_free(test.worker, start, end - start));
	ck_assert_ok(ext2mb_commit(test.mb));
	memset(test.used + start, 0, end - start);
}

/* From empty to full and fragmented. */
START_TEST(test_model)
{
	struct random random = random_start(cases[_i].options);
	uint64_t stripe = cases[_i].stripe;

	open_test(&cases[_i], 0);
	ck_assert_uint_eq(test.mb->stripe.blocks, stripe);
	uint8_t *was_used = malloc(test.blocks);
	memcpy(was_used, test.used, test.blocks);
	for (uint64_t round = 0; round < mb_operations(is_soak() ? 600 : 300); round++) {
		struct ext2mb_extent extent;
		uint64_t count = (1 + random_below(&random, 300)) * test.cluster_blocks;

		ask_for_stripes(&random, stripe);
		if (count % stripe && any_group_has(test.cluster_blocks, test.cluster_blocks, false))
			ck_assert_ok(ask(0, count, 0, &extent));
		give_some(&random, was_used);
	}
	free(was_used);
	close_test();
}
END_TEST

/* A free place where a stripe begins, with room for some more before and behind. */
static uint64_t find_room(uint64_t stripe)
{
	for (uint64_t block = 64 * stripe; block + 6 * stripe < test.blocks; block += stripe)
		if (is_free(block, 6 * stripe) && block / test.group_blocks == (block + 6 * stripe) / test.group_blocks)
			return block;
	ck_abort_msg("there is no room");
}

START_TEST(test_goal)
{
	uint64_t stripe = cases[_i].stripe;
	struct ext2mb_extent extent;

	open_test(&cases[_i], 0);
	uint64_t crooked = find_room(stripe) + test.cluster_blocks;
	ck_assert_ok(ask(crooked, stripe, 0, &extent));
	ck_assert_uint_eq(extent.start % stripe, 0);

	crooked = find_room(stripe) + test.cluster_blocks;
	ck_assert_ok(ask(crooked, stripe, EXT2MB_ALLOC_GOAL_ONLY, &extent));
	ck_assert_uint_eq(extent.start, crooked);

	crooked = find_room(stripe) + test.cluster_blocks;
	ck_assert_ok(ask(crooked, 2 * stripe, 0, &extent));
	ck_assert_uint_eq(extent.start, crooked);

	uint64_t straight = find_room(stripe);
	ck_assert_ok(ask(straight, stripe, 0, &extent));
	ck_assert_uint_eq(extent.start, straight);
	close_test();
}
END_TEST

/* The caller's stripe comes before the superblock's, and what cannot be one is none. */
START_TEST(test_options)
{
	static const struct {
		unsigned int geometry;
		uint32_t asked;
		uint32_t stripe;
	} choices[] = {
		{ 0, 0, 32 },      { 0, EXT2MB_NO_STRIPE, 0 },
		{ 0, 20, 20 },     { 0, 1, 0 },
		{ 0, 4096, 4096 }, { 0, 4097, 0 },
		{ 4, 6, 0 },       { 4, 8, 8 },
	};

	open_test(&cases[choices[_i].geometry], choices[_i].asked);
	ck_assert_uint_eq(test.mb->stripe.blocks, choices[_i].stripe);
	ck_assert_uint_eq(test.mb->stripe.clusters * test.cluster_blocks, choices[_i].stripe);
	close_test();
}
END_TEST

/* 512 blocks are wanted, but one would do, and the best there are is a run of 230: of it three stripes of 48. */
START_TEST(test_trimming)
{
	struct ext2mb_request everything = { .struct_bytes = sizeof(everything),
		                             .count = 1 << 20,
		                             .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	open_test(&cases[1], 0);
	uint64_t room = find_room(48);
	while (!ext2mb_alloc(test.worker, &everything, &extent))
		;
	ck_assert_ok(ext2mb_free(test.worker, room + 1, 230));
	ck_assert_ok(ext2mb_commit(test.mb));

	struct free_search search = { .worker = test.worker, .mb = test.mb, .wanted = 512, .original = 1 };
	search_begin_criterion(&search, BEST_AVAILABLE);
	ck_assert_ok(sweep_trimmed(&search, 0, test.mb->geometry.groups));
	ck_assert_int_eq(search.status, SEARCH_HAS_TAKEN);
	ck_assert_uint_eq(search.wanted, 512);
	ck_assert_uint_eq(search.best.count, 144);
	ck_assert_uint_eq(geometry_block(&test.mb->geometry, search.best.group, search.best.start), room + 48);
	stats_add(&test.worker->stats, COUNT_CLUSTERS_ALLOCATED, search.best.count);
	close_test();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stripe");
	TCase *stripe = mb_image_case(suite);

	tcase_add_loop_test(stripe, test_model, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(stripe, test_goal, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(stripe, test_options, 0, 8);
	tcase_add_test(stripe, test_trimming);
	return run_suite(suite);
}
