/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which the search goes, and what it does when another thread comes between: here it does so on cue. */
#include <stdbool.h>
#include <string.h>

#include "allocator/search/scan.h"
#include "allocator/search/stream_goals.h"
#include "mb_image.h"
#include "unit.h"

struct free_search;
static void meanwhile(const struct free_search *search, uint32_t number, bool waits);
#define SEARCH_MEANWHILE(search, number, waits) meanwhile(search, number, waits)
#include "../../lib/allocator/search/group_search.c"

#define GROUP_BLOCKS 2048
#define GROUPS 40

static struct {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	ext2_filsys fs;
	void (*act)(const struct free_search *search, uint32_t number, bool waits);
	uint32_t visited[1000];
	unsigned int visits;
} test;

static void meanwhile(const struct free_search *search, uint32_t number, bool waits)
{
	test.visited[test.visits++ % 1000] = number;
	if (test.act)
		test.act(search, number, waits);
}

/* A filesystem of 40 groups without flex_bg in which everything is in use. */
static void open_full_without(uint32_t choices)
{
	const struct policy_options options = { .choices_dropped = choices };
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = GROUP_BLOCKS,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	mb_image_make("-t ext4 -b 4096 -g 2048 -O ^flex_bg,^resize_inode,^has_journal", "320M");
	test.fs = mb_image_open();
	ck_assert_ok(policy_open(test.fs, &options, &test.mb));
	ck_assert_uint_eq(test.mb->geometry.groups, GROUPS);
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	while (!ext2mb_alloc(test.worker, &request, &extent))
		;
	ck_assert_uint_eq(ext2mb_free_blocks(test.mb), 0);
}

static void open_full(void)
{
	open_full_without(0);
}

static void close_full(void)
{
	mb_check(test.mb);
	ext2mb_worker_close(test.worker);
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
}

static uint64_t block_in(uint32_t group, uint32_t cluster)
{
	return (uint64_t)group * GROUP_BLOCKS + cluster;
}

static void make_free(uint32_t group, uint32_t cluster, uint32_t count)
{
	ck_assert_ok(ext2mb_free(test.worker, block_in(group, cluster), count));
	ck_assert_ok(ext2mb_commit(test.mb));
}

static errcode_t ask(uint64_t goal, uint64_t count, uint32_t flags, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request), .goal = goal, .count = count, .flags = flags
	};

	test.visits = 0;
	*extent = (struct ext2mb_extent){ 0 };
	return ext2mb_alloc(test.worker, &request, extent);
}

/* With members of two orders on both sides of the start: C D G H A B E F, and the start before all. */
START_TEST(test_order_of_groups)
{
	static const uint32_t eights[] = { 3, 5, 20, 22 };
	static const uint32_t sixteens[] = { 7, 9, 25, 27 };
	static const uint32_t expected[] = { 20, 22, 25, 27, 3, 5, 7, 9 };
	struct ext2mb_extent extent;

	open_full();
	for (unsigned int index = 0; index < 4; index++) {
		make_free(eights[index], 1024, 8);
		make_free(sixteens[index], 1024, 16);
	}
	for (unsigned int index = 0; index < 8; index++) {
		ck_assert_ok(ask(block_in(12, 1000), 8, 0, &extent));
		ck_assert_uint_eq(extent.start, block_in(expected[index], 1024));
		/* What is left of a longer run would be of the shorter order. */
		if (index % 4 >= 2)
			ck_assert_ok(ask(extent.start + 8, 8, EXT2MB_ALLOC_GOAL_ONLY, &extent));
	}
	ck_assert_error(ask(0, 1, 0, &extent), EXT2MB_ET_NO_SPACE);

	/* A start group that suits comes before all others, though a better order lies to its right. */
	make_free(12, 512, 64);
	make_free(13, 512, 8);
	ck_assert_ok(ask(block_in(12, 1000), 8, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(12, 512));
	close_full();
}
END_TEST

/* The goal itself, all of it, before anything else; else the buddy of the very order, else the best fit. */
START_TEST(test_choice_within_a_group)
{
	struct ext2mb_extent extent;

	open_full();
	make_free(4, 1100, 20);
	make_free(4, 1200, 7);
	make_free(4, 1300, 9);
	ck_assert_ok(ask(block_in(4, 1103), 10, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(4, 1103));
	/* Free: [1100, 1103), [1113, 1120), [1200, 1207), [1300, 1309). Exactly seven comes before a longer one. */
	ck_assert_ok(ask(block_in(4, 1500), 7, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(4, 1113));
	/* The shortest that is long enough, though longer ones come before and after. */
	make_free(4, 1130, 40);
	make_free(4, 1600, 100);
	ck_assert_ok(ask(block_in(4, 1500), 6, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(4, 1200));
	/* A power of two goes to an aligned buddy: [1132, 1136) is one of four. */
	ck_assert_ok(ask(block_in(4, 1500), 4, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(4, 1132));
	/* Nothing is long enough: the longest. */
	ck_assert_ok(ask(block_in(4, 1500), 300, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(4, 1600));
	ck_assert_uint_eq(extent.count, 100);
	ck_assert_error(ask(block_in(4, 1500), 300, EXT2MB_ALLOC_WHOLE, &extent), EXT2MB_ET_NO_SPACE);
	close_full();
}
END_TEST

static void let_go_when_waited_for(const struct free_search *search, uint32_t number, bool waits)
{
	(void)search;
	if (number == 30 && waits)
		lock_release(&test.mb->groups[30].lock);
}

/* The only group with a run that is long enough is busy: it is waited for rather than less taken elsewhere. */
START_TEST(test_busy)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_extent extent;
	uint32_t count = _i ? 64 : 60; /* by buddy or by measuring */

	open_full();
	make_free(10, 1024, 32);
	make_free(30, 1024, 64);
	ck_assert(lock_try(&test.mb->groups[30].lock));
	test.act = let_go_when_waited_for;
	ck_assert_ok(ask(block_in(9, 1000), count, 0, &extent));
	test.act = NULL;
	ck_assert_uint_eq(extent.start, block_in(30, 1024));
	ck_assert_uint_eq(extent.count, count);
	ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
	ck_assert_uint_eq(stats.busy_waits, 1);
	ck_assert_uint_eq(stats.busy_skips, 1);
	close_full();
}
END_TEST

/* The last sweep is beyond group 5 when another thread takes what lies ahead and releases blocks of group 5. */
static void release_behind(const struct free_search *search, uint32_t number, bool waits)
{
	(void)search;
	if (number == 20 && waits) {
		test.act = NULL;
		ck_assert_ok(ext2mb_commit(test.mb));
	}
}

START_TEST(test_release_behind)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_extent extent;

	open_full();
	ck_assert_ok(ext2mb_free(test.worker, block_in(5, 1024), 3));
	test.act = release_behind;
	ck_assert_ok(ask(block_in(1, 1000), 3, _i ? EXT2MB_ALLOC_WHOLE : 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(5, 1024));
	ck_assert_uint_eq(extent.count, 3);
	ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
	ck_assert_uint_eq(stats.repeated_sweeps, 1);
	close_full();
}
END_TEST

static void steal_best(const struct free_search *search, uint32_t number, bool waits)
{
	/* As the last sweep comes to its end, what is remembered as best goes to somebody else. */
	if (number == GROUPS - 1 && waits && search->best.group == 6) {
		struct ext2mb_worker *thief;
		struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                          .goal = block_in(6, 1024),
			                          .count = 30,
			                          .flags = EXT2MB_ALLOC_PACK };
		struct ext2mb_extent extent;

		test.act = NULL;
		ck_assert_ok(ext2mb_worker_open(test.mb, &thief));
		ck_assert_ok(ext2mb_alloc(thief, &request, &extent));
		ext2mb_worker_close(thief);
	}
}

START_TEST(test_lost_chunk)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_extent extent;

	open_full_without(CHOICE_BY_LARGEST);
	make_free(6, 1024, 30);
	make_free(8, 1024, 10);
	make_free(10, 1024, 20);
	test.act = steal_best;
	ck_assert_ok(ask(block_in(0, 1000), 100, 0, &extent));
	/* The first that comes will then do. */
	ck_assert_uint_eq(extent.start, block_in(8, 1024));
	ck_assert_uint_eq(extent.count, 10);
	ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
	ck_assert_uint_eq(stats.lost_chunks, 1);
	close_full();
}
END_TEST

/* Lengths above the original request are trimmed, but not below it, before all groups are walked. */
START_TEST(test_trimming)
{
	open_full();
	make_free(4, 1024, 40);
	make_free(7, 1024, 20);
	make_free(9, 1024, 10);
	for (uint32_t original = 5; original <= 40; original += 5) {
		struct free_search search = {
			.worker = test.worker,
			.mb = test.mb,
			.original = original,
			.wanted = 100,
			.start_group = 0,
		};

		search_begin_criterion(&search, BEST_AVAILABLE);
		ck_assert_ok(scan_sweep(&search));
		ck_assert_uint_eq(search.wanted, 100);
		/* From 64 down by at most three orders, never below the original: 32, 16 or 8 clusters. */
		uint32_t expected = original <= 32 ? 32 : 0;
		ck_assert_uint_eq(search.status == SEARCH_HAS_TAKEN ? search.best.count : 0, expected);
		if (expected) {
			ck_assert_uint_eq(search.best.group, 4);
			stats_add(&test.worker->stats, COUNT_CLUSTERS_ALLOCATED, expected);
			make_free(4, search.best.start, expected);
		}
	}
	close_full();
}
END_TEST

/*
 * What is nowhere free is not looked for: the groups with the largest buddies are tried, be they the first of their
 * flex groups. A buddy that is long enough is cut; of what is shorter, all of the run that it lies in is taken.
 */
START_TEST(test_by_largest)
{
	static const struct {
		uint32_t count;
		uint32_t flags;
		uint32_t group;
		uint32_t start;
		uint32_t taken;
		uint32_t considered; /* groups: the start group for each criterion, and those that are tried */
		uint32_t measured;   /* runs */
	} requests[] = {
		{ 64, 0, 0, 1530, 42, 5, 2 }, { 40, EXT2MB_ALLOC_WHOLE, 0, 1530, 40, 2 + GROUPS, 1 },
		{ 50, 0, 0, 1530, 42, 4, 1 }, { 32, 0, 0, 1536, 32, 4, 1 },
		{ 20, 0, 0, 1536, 20, 2, 1 }, { 16, 0, 20, 1040, 16, 3, 1 },
	};
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_extent extent;

	open_full();
	test.mb->geometry.flex_groups = 16;
	make_free(0, 1530, 42);
	for (uint32_t group = 0; group < GROUPS; group += 5)
		for (uint32_t cluster = 512; cluster < 1024; cluster += 8)
			make_free(group, cluster, 7);
	make_free(20, 1036, 24);
	for (unsigned int index = 0; index < sizeof(requests) / sizeof(*requests); index++) {
		ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
		uint64_t extents = stats.extents_scanned;

		ck_assert_ok(ask(block_in(5, 1000), requests[index].count, requests[index].flags, &extent));
		ck_assert_uint_eq(extent.start, block_in(requests[index].group, requests[index].start));
		ck_assert_uint_eq(extent.count, requests[index].taken);
		ck_assert_uint_le(test.visits, requests[index].considered);
		ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
		ck_assert_uint_eq(stats.extents_scanned, extents + requests[index].measured);
		ck_assert_ok(ext2mb_free(test.worker, extent.start, extent.count));
		ck_assert_ok(ext2mb_commit(test.mb));
	}
	close_full();
}
END_TEST

/* Where nothing is long enough: the longest run first, wherever it is and whatever buddies it has, and all of it. */
START_TEST(test_longest)
{
	static const struct group_piece runs[] = {
		{ 7, 1030, 60 }, { 12, 1020, 46 }, { 3, 1024, 40 }, { 9, 1040, 32 }
	};
	struct ext2mb_extent extent;

	open_full();
	for (unsigned int index = 0; index < sizeof(runs) / sizeof(*runs); index++)
		make_free(runs[index].group, runs[index].start, runs[index].count);
	for (unsigned int index = 0; index < sizeof(runs) / sizeof(*runs); index++) {
		ck_assert_ok(ask(block_in(5, 1000), 2000, 0, &extent));
		ck_assert_uint_eq(extent.start, block_in(runs[index].group, runs[index].start));
		ck_assert_uint_eq(extent.count, runs[index].count);
	}
	close_full();
}
END_TEST

/* Without a goal: after the worker's last request if all of it is free there; a single block where the next one is. */
START_TEST(test_go_on)
{
	struct ext2mb_extent extent;

	open_full();
	make_free(3, 1024, 12);
	make_free(3, 1100, 3);
	make_free(3, 1200, 5);
	make_free(9, 1024, 4);
	ck_assert_ok(ask(0, 5, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(3, 1200));
	/* A stream's request and one with a goal are no part of that. */
	ck_assert_ok(ask(block_in(3, 1024), 2, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(3, 1024));
	ck_assert_ok(ask(0, 2, EXT2MB_ALLOC_STREAM, &extent));
	make_free(3, 1200, 5);
	ck_assert_ok(ask(0, 8, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(3, 1028));
	ck_assert_uint_eq(extent.count, 8);
	for (uint32_t cluster = 1100; cluster < 1103; cluster++) {
		ck_assert_ok(ask(0, 1, 0, &extent));
		ck_assert_uint_eq(extent.start, block_in(3, cluster));
		ck_assert_uint_eq(test.visits, 0);
	}
	ck_assert_ok(ask(0, 1, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(3, 1200));
	ck_assert_ok(ask(0, 3, 0, &extent));
	ck_assert_uint_eq(extent.start, block_in(3, 1201));
	close_full();
}
END_TEST

/* A stream goes on where it was last; others have goals of their own. */
START_TEST(test_streams)
{
	struct ext2mb_extent extent;
	uint64_t groups[10];

	mb_image_make("-t ext4 -b 4096 -g 2048 -O ^flex_bg,^resize_inode,^has_journal", "320M");
	test.fs = mb_image_open();
	ck_assert_ok(ext2mb_open(test.fs, NULL, &test.mb));
	ck_assert_uint_eq(test.mb->goals->count, 10);
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	for (int round = 0; round < 3; round++) {
		for (uint64_t stream = 0; stream < 10; stream++) {
			struct ext2mb_request request = { .struct_bytes = sizeof(request),
				                          .stream = 100 + stream,
				                          .count = 300,
				                          .flags = EXT2MB_ALLOC_STREAM };

			ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
			if (!round)
				groups[stream] = extent.start / GROUP_BLOCKS;
			ck_assert_uint_eq(groups[stream], extent.start / GROUP_BLOCKS);
			ck_assert_uint_eq(groups[stream], 4 * stream);
		}
	}
	close_full();
}
END_TEST

static Suite *scan_suite(void)
{
	Suite *suite = suite_create("scan");
	TCase *scan = tcase_create("scan");

	tcase_add_unchecked_fixture(scan, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(scan, 60);
	tcase_add_test(scan, test_order_of_groups);
	tcase_add_test(scan, test_choice_within_a_group);
	tcase_add_loop_test(scan, test_busy, 0, 2);
	tcase_add_loop_test(scan, test_release_behind, 0, 2);
	tcase_add_test(scan, test_lost_chunk);
	tcase_add_test(scan, test_trimming);
	tcase_add_test(scan, test_by_largest);
	tcase_add_test(scan, test_longest);
	tcase_add_test(scan, test_go_on);
	tcase_add_test(scan, test_streams);
	suite_add_tcase(suite, scan);
	return suite;
}

int main(void)
{
	return run_suite(scan_suite());
}
