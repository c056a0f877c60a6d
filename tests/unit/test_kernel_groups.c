/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How base and series come to a group and measure its runs: what is loaded, read ahead, tried first, and when it is
 * enough. */
#include <stdbool.h>
#include <string.h>

#include "compare/kernel_policy.h"
#include "allocator/core/allocator.h"
#include "allocator/group/group.h"
#include "allocator/search/stream_goals.h"
#include "mb_image.h"
#include "unit.h"

#define GROUP_BLOCKS 2048
#define GROUPS 40
#define WITHOUT_FLEX "-t ext4 -b 4096 -g 2048 -O ^flex_bg,^resize_inode,^has_journal"
#define WITH_FLEX "-t ext4 -b 4096 -g 2048 -G 8 -O flex_bg,^resize_inode,^has_journal"
#define SMALL_PAGES "-t ext4 -b 1024 -g 2048 -O ^flex_bg,^resize_inode,^has_journal"

static struct {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	uint64_t first_block;
} test;

static void open_policy(const struct policy_options *options)
{
	test.fs = mb_image_open();
	ck_assert_ok(policy_open(test.fs, options, &test.mb));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	test.first_block = test.mb->geometry.first_block;
}

static void close_policy(void)
{
	mb_check(test.mb);
	ext2mb_worker_close(test.worker);
	ck_assert_ok(ext2mb_sync(test.mb));
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
}

/* A filesystem in which everything is in use. */
static void make_full(const char *options, const char *size)
{
	const struct policy_options ours = { 0 };
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = GROUP_BLOCKS,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	mb_image_make(options, size);
	open_policy(&ours);
	while (!ext2mb_alloc(test.worker, &request, &extent))
		;
	ck_assert_uint_eq(ext2mb_free_blocks(test.mb), 0);
}

static uint64_t block_in(uint32_t group, uint32_t cluster)
{
	return test.first_block + (uint64_t)group * GROUP_BLOCKS + cluster;
}

static void make_free(uint32_t group, uint32_t start, uint32_t count)
{
	ck_assert_ok(ext2mb_free(test.worker, block_in(group, start), count));
	ck_assert_ok(ext2mb_commit(test.mb));
}

/* Closes what has been prepared, and opens it as the kernel. */
static void reopen(enum group_loading loading, enum ext2mb_scan scan, uint32_t linear_groups)
{
	const struct policy_options options = {
		.policy = POLICY_SERIES,
		.loading = loading,
		.linear_groups = linear_groups,
		.allocator.struct_bytes = sizeof(struct ext2mb_options),
		.allocator.optimize_scan = scan,
	};

	close_policy();
	open_policy(&options);
}

static struct ext2mb_extent take_stream(uint64_t count)
{
	const struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                                .count = count,
		                                .flags = EXT2MB_ALLOC_STREAM };
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
	return extent;
}

static bool is_loaded(uint32_t group)
{
	return group_summary_read(&test.mb->groups[group]).state == GROUP_LOADED;
}

/*
 * A run is measured buddy by buddy until what is wanted has been seen, and counts as often: [1030, 1064) is [1030,
 * 1040), [1040, 1056) and [1056, 1064) for 3, of which the last is the shortest that will do. Ours takes the run's
 * beginning.
 */
START_TEST(test_extents_end_with_buddies)
{
	make_full(WITHOUT_FLEX, "320M");
	make_free(20, 1030, 34);
	reopen(GROUPS_WARM, EXT2MB_SCAN_LINEAR, 0);
	ck_assert_uint_eq(take_stream(3).start, block_in(20, 1056));
	close_policy();

	make_full(WITHOUT_FLEX, "320M");
	make_free(20, 1030, 34);
	ck_assert_uint_eq(take_stream(3).start, block_in(20, 1030));
	close_policy();
}
END_TEST

/* A run that is just long enough is taken whole, with all of its buddies. */
START_TEST(test_extents_join_buddies)
{
	make_full(WITHOUT_FLEX, "320M");
	make_free(20, 1029, 11);
	reopen(GROUPS_WARM, EXT2MB_SCAN_LINEAR, 0);
	struct ext2mb_extent extent = take_stream(11);
	ck_assert_uint_eq(extent.start, block_in(20, 1029));
	ck_assert_uint_eq(extent.count, 11);
	close_policy();
}
END_TEST

/* After 200 extents the best of them has to do, be there a longer one after them; before, it is found. */
START_TEST(test_enough_extents)
{
	for (uint32_t singles = 190; singles <= 210; singles += 20) {
		make_full(WITHOUT_FLEX, "320M");
		for (uint32_t single = 0; single < singles; single++)
			make_free(20, 1101 + 2 * single, 1);
		make_free(20, 1601, 3);
		reopen(GROUPS_WARM, EXT2MB_SCAN_LINEAR, 0);
		struct ext2mb_extent extent = take_stream(5);
		ck_assert_uint_eq(extent.start, block_in(20, singles < 200 ? 1601 : 1101));
		ck_assert_uint_eq(extent.count, singles < 200 ? 3 : 1);
		close_policy();
	}
}
END_TEST

/*
 * Cold, cheap criteria pass over all groups, and the slow one loads the first that has enough. What was read ahead last
 * is loaded after that, 32 groups without flex_bg; others stay as they are. Warm, the first criterion finds it.
 */
START_TEST(test_cold)
{
	for (int warm = 0; warm <= 1; warm++) {
		make_full(WITHOUT_FLEX, "320M");
		make_free(20, 1024, 16);
		make_free(25, 1007, 1);
		make_free(35, 1007, 1);
		reopen(warm ? GROUPS_WARM : GROUPS_COLD, EXT2MB_SCAN_LINEAR, 0);
		ck_assert_int_eq(is_loaded(20), warm);
		ck_assert_uint_eq(take_stream(16).start, block_in(20, 1024));
		for (unsigned int criterion = POWER_OF_TWO; criterion <= GOAL_LENGTH_SLOW; criterion++) {
			struct ext2mb_criterion_stats stats = mb_criterion_stats(test.mb, criterion);
			bool is_hit = criterion == (warm ? POWER_OF_TWO : GOAL_LENGTH_SLOW);
			uint64_t considered = is_hit ? 21 : warm ? 0 : GROUPS;

			ck_assert_uint_eq(stats.hits, is_hit);
			ck_assert_uint_eq(stats.groups, considered);
		}
		ck_assert(is_loaded(20) && is_loaded(25));
		ck_assert_int_eq(is_loaded(35), warm);
		ck_assert_int_eq(is_loaded(3), warm);
		close_policy();
	}
}
END_TEST

/* Cold, the index has what is loaded only: the second request finds it there. */
START_TEST(test_cold_index)
{
	make_full(WITHOUT_FLEX, "320M");
	make_free(20, 1024, 32);
	make_free(30, 1024, 16);
	reopen(GROUPS_COLD, EXT2MB_SCAN_INDEXED, 0);
	ck_assert_uint_eq(take_stream(16).start, block_in(20, 1024));
	ck_assert_uint_eq(mb_criterion_stats(test.mb, GOAL_LENGTH_SLOW).hits, 1);
	ck_assert_uint_eq(take_stream(16).start, block_in(20, 1040));
	ck_assert_uint_eq(mb_criterion_stats(test.mb, POWER_OF_TWO).hits, 1);
	close_policy();
}
END_TEST

/* The first group of a flex group is loaded by cheap criteria, too, and so is what was never initialised. */
START_TEST(test_cold_exceptions)
{
	make_full(WITH_FLEX, "320M");
	make_free(10, 1000, 3);
	make_free(16, 1500, 3);
	reopen(GROUPS_COLD, EXT2MB_SCAN_LINEAR, 0);
	ck_assert_uint_eq(take_stream(3).start, block_in(16, 1500));
	ck_assert_uint_eq(mb_criterion_stats(test.mb, GOAL_LENGTH_FAST).hits, 1);
	ck_assert(!is_loaded(10));
	close_policy();

	mb_image_make(WITHOUT_FLEX, "320M");
	open_policy(&(struct policy_options){ 0 });
	reopen(GROUPS_COLD, EXT2MB_SCAN_LINEAR, 0);
	take_stream(3);
	ck_assert_uint_eq(mb_criterion_stats(test.mb, GOAL_LENGTH_FAST).hits, 1);
	close_policy();
}
END_TEST

/* With blocks of 1 KiB two groups are in one page, and loaded together. */
START_TEST(test_cold_pairs)
{
	make_full(SMALL_PAGES, "80M");
	make_free(20, 1024, 16);
	make_free(34, 1007, 20);
	make_free(35, 1007, 1);
	make_free(36, 1007, 1);
	close_policy();
	/* Else 35 might be loaded because it was read ahead. */
	open_policy(&(struct policy_options){ .policy = POLICY_SERIES,
	                                      .loading = GROUPS_COLD,
	                                      .read_ahead = 1,
	                                      .allocator.struct_bytes = sizeof(struct ext2mb_options),
	                                      .allocator.optimize_scan = EXT2MB_SCAN_LINEAR });
	ck_assert_uint_eq(take_stream(19).start, block_in(34, 1007));
	ck_assert(is_loaded(34) && is_loaded(35));
	close_policy();
}
END_TEST

/* mb_max_linear_groups: from the start group on, before the index is asked for the order that fits best. */
START_TEST(test_linear_groups)
{
	for (uint32_t linear = 0; linear <= 4; linear++) {
		make_full(WITHOUT_FLEX, "320M");
		make_free(3, 1024, 64);
		make_free(10, 1024, 16);
		reopen(GROUPS_WARM, EXT2MB_SCAN_INDEXED, linear);
		ck_assert_uint_eq(take_stream(16).start, block_in(linear > 3 ? 3 : 10, 1024));
		close_policy();
	}
}
END_TEST

static struct ext2mb_extent alloc_for_file(struct ext2mb_file *file, uint64_t logical, uint32_t flags)
{
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request), .logical = logical, .count = 2, .flags = flags
	};
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_file_alloc(test.worker, file, &request, &extent));
	ck_assert_uint_eq(extent.count, 2);
	return extent;
}

/* fallocate of a small file takes what it asks for, in the inode's group; a write takes a preallocation for all. */
START_TEST(test_small_files)
{
	for (int written = 0; written <= 1; written++) {
		const struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 100 };
		struct ext2mb_file *file, *other;

		mb_image_make(WITHOUT_FLEX, "320M");
		open_policy(&(struct policy_options){ 0 });
		reopen(GROUPS_WARM, EXT2MB_SCAN_LINEAR, 0);
		uint32_t before = group_free_clusters(&test.mb->groups[0]);
		ck_assert_ok(ext2mb_file_open(test.worker, &info, &file));
		ck_assert_ok(ext2mb_file_open(test.worker, &info, &other));
		struct ext2mb_extent extent = alloc_for_file(file, 0, written ? 0 : EXT2MB_FILE_UNWRITTEN);
		ck_assert_uint_eq(extent.start / GROUP_BLOCKS, 0);
		ck_assert_uint_eq(before - group_free_clusters(&test.mb->groups[0]), written ? 512 : 2);
		uint64_t next = alloc_for_file(other, 0, written ? 0 : EXT2MB_FILE_UNWRITTEN).start;
		if (written)
			ck_assert_uint_eq(next, extent.start + 2);
		ext2mb_file_close(test.worker, file);
		ext2mb_file_close(test.worker, other);
		close_policy();
	}
}
END_TEST

/* Where neither a preallocation nor a trimmed one fits, the file gets what it asks for, and no more. */
START_TEST(test_small_fall_back)
{
	const struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 100 };
	struct ext2mb_file *file;

	make_full(WITHOUT_FLEX, "320M");
	make_free(20, 1030, 40);
	reopen(GROUPS_WARM, EXT2MB_SCAN_INDEXED, 0);
	ck_assert_ok(ext2mb_file_open(test.worker, &info, &file));
	ck_assert_uint_eq(alloc_for_file(file, 0, 0).start / GROUP_BLOCKS, 20);
	ck_assert_uint_eq(group_free_clusters(&test.mb->groups[20]), 38);
	ext2mb_file_close(test.worker, file);
	close_policy();
}
END_TEST

static bool is_contended(void *context)
{
	return *(bool *)context;
}

static bool is_never_busy(void *context, uint32_t group)
{
	(void)context;
	(void)group;
	return false;
}

static void pass_by(void *context, uint32_t group)
{
	(void)context;
	(void)group;
}

/* Allocates for a file with an inode in group 5, which has the goal of stream 0. */
static struct ext2mb_extent take_whole(uint64_t final_blocks, uint64_t count)
{
	uint32_t goals = test.mb->goals->count;
	const struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = (5 * test.mb->geometry.inodes_per_group / goals + 1) * goals,
		.blocks = final_blocks,
		.flags = final_blocks ? EXT2MB_FILE_FINAL : 0,
	};
	const struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = count };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(test.worker, &info, &file));
	ck_assert_ok(ext2mb_file_alloc(test.worker, file, &request, &extent));
	ck_assert_uint_eq(extent.count, count);
	ext2mb_file_close(test.worker, file);
	return extent;
}

/*
 * Files that are closed follow one another in their inodes' group, and the stream's goal is neither asked nor changed.
 * One that still grows goes where the stream is, and gets 32 blocks for 18; so does a closed one while the filesystem
 * is busy, and so do all requests but its last.
 */
START_TEST(test_closed_files)
{
	bool is_busy = false;
	const struct contention contention = {
		.is_busy = is_never_busy, .has_taken = pass_by, .is_contended = is_contended, .context = &is_busy
	};

	for (enum ext2mb_scan scan = EXT2MB_SCAN_LINEAR; scan <= EXT2MB_SCAN_INDEXED; scan++) {
		make_full(WITHOUT_FLEX, "320M");
		make_free(20, 1024, 512);
		reopen(GROUPS_WARM, scan, 0);
		contention_simulate(test.mb, &contention);
		ck_assert_uint_eq(take_stream(16).start, block_in(20, 1024));
		make_free(5, 1024, 256);
		ck_assert_uint_eq(take_whole(18, 18).start, block_in(5, 1024));
		ck_assert_uint_eq(take_whole(18, 18).start, block_in(5, 1024 + 18));
		ck_assert_uint_eq(group_free_clusters(&test.mb->groups[5]), 256 - 36);
		/* Each is the next whole buddy of 32: what the last one had after its 18 is free again. */
		ck_assert_uint_eq(take_whole(0, 18).start, block_in(20, 1056));
		ck_assert_uint_eq(take_whole(19, 18).start, block_in(20, 1088));
		is_busy = true;
		ck_assert_uint_eq(take_whole(18, 18).start, block_in(20, 1120));
		is_busy = false;
		contention_simulate(test.mb, NULL);
		close_policy();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernel_groups");
	TCase *tcase = mb_image_case(suite);

	tcase_add_test(tcase, test_extents_end_with_buddies);
	tcase_add_test(tcase, test_extents_join_buddies);
	tcase_add_test(tcase, test_enough_extents);
	tcase_add_test(tcase, test_cold);
	tcase_add_test(tcase, test_cold_index);
	tcase_add_test(tcase, test_cold_exceptions);
	tcase_add_test(tcase, test_cold_pairs);
	tcase_add_test(tcase, test_linear_groups);
	tcase_add_test(tcase, test_small_files);
	tcase_add_test(tcase, test_small_fall_back);
	tcase_add_test(tcase, test_closed_files);
	return run_suite(suite);
}
