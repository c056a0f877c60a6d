/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The purpose of preallocation: the layout of files that grow side by side, and of small files of a directory. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mb_image.h"
#include "unit.h"

static void close_image(struct small_image *image)
{
	mb_check(image->mb);
	ext2mb_worker_close(image->worker);
	ext2mb_close(image->mb);
	ck_assert_ok(ext2fs_close(image->fs));
}

static struct ext2mb_file *open_one(struct small_image *image, ext2_ino_t ino, ext2_ino_t parent, uint64_t final)
{
	struct ext2mb_file_info info = { sizeof(info), final, ino, parent, final ? EXT2MB_FILE_FINAL : 0 };
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(image->worker, &info, &file));
	return file;
}

static struct ext2mb_extent append(struct small_image *image, struct ext2mb_file *file, uint64_t logical,
                                   uint64_t count)
{
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .logical = logical, .count = count };
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_file_alloc(image->worker, file, &request, &extent));
	return extent;
}

/* Files that grow side by side, block by block, do not alternate; and nothing is left reserved when they are closed. */
START_TEST(test_side_by_side)
{
	enum { STREAMS = 16, BLOCKS = 2000 };
	static const struct {
		struct ext2mb_options options;
		unsigned int most_pieces; /* a file */
		bool begins_small;
	} cases[] = {
		/* They end at powers of two from 256 blocks on, since most groups are free. */
		{ { .normalization = EXT2MB_NORMALIZE_EXT2MB }, 6, false },
		{ { .normalization = EXT2MB_NORMALIZE_TABLE, .locality = EXT2MB_LOCALITY_NONE }, 10, false },
		{ { .normalization = EXT2MB_NORMALIZE_POW2, .locality = EXT2MB_LOCALITY_NONE }, 12, false },
		/* As in the kernel, the first 16 blocks alternate. */
		{ { .normalization = EXT2MB_NORMALIZE_TABLE, .locality = EXT2MB_LOCALITY_THREAD }, 26, true },
	};
	struct ext2mb_options options = cases[_i].options;
	struct ext2mb_file *files[STREAMS];
	uint64_t ends[STREAMS] = { 0 };
	unsigned int pieces[STREAMS] = { 0 };
	struct small_image image;

	mb_image_make("-t ext4 -b 4096 -g 8192", "1G");
	options.struct_bytes = sizeof(options);
	options.streams = 2;
	small_image_open(&image, &options);
	uint64_t free_before = ext2mb_free_blocks(image.mb);
	for (unsigned int index = 0; index < STREAMS; index++)
		files[index] = open_one(&image, 12 + index, 2, 0);
	for (uint64_t logical = 0; logical < BLOCKS; logical++)
		for (unsigned int index = 0; index < STREAMS; index++) {
			struct ext2mb_extent extent = append(&image, files[index], logical, 1);

			pieces[index] += extent.start != ends[index];
			ends[index] = extent.start + 1;
			if (logical == 7)
				ck_assert_int_eq(pieces[index] == 8, cases[_i].begins_small);
		}
	for (unsigned int index = 0; index < STREAMS; index++) {
		ck_assert_uint_le(pieces[index], cases[_i].most_pieces);
		ext2mb_file_close(image.worker, files[index]);
	}
	if (!cases[_i].begins_small)
		ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 0);
	ck_assert_uint_eq(ext2mb_free_blocks(image.mb) + ext2mb_reserved_blocks(image.mb),
	                  free_before - STREAMS * BLOCKS);
	close_image(&image);
}
END_TEST

/* A file that stays small leaves the rest of its window to the next one, and from then on they lie side by side. */
START_TEST(test_small_files_follow_one_another)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .locality = EXT2MB_LOCALITY_DIRECTORY };
	struct small_image image;
	uint64_t end = 0;

	if (_i)
		options.locality = EXT2MB_LOCALITY_THREAD;
	mb_image_make("-t ext4 -b 4096", "200M");
	small_image_open(&image, &options);
	for (unsigned int number = 0; number < 16; number++) {
		struct ext2mb_file *file = open_one(&image, 100 + number, 2, 0);
		struct ext2mb_extent extent = append(&image, file, 0, 1);

		ext2mb_file_close(image.worker, file);
		ck_assert_msg(!end || extent.start == end, "file %u begins at %llu instead of %llu", number,
		              (unsigned long long)extent.start, (unsigned long long)end);
		end = extent.start + 1;
	}
	close_image(&image);
}
END_TEST

/* A file whose end is known reserves nothing behind it. */
START_TEST(test_final)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options) };
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "200M");
	small_image_open(&image, &options);
	struct ext2mb_file *file = open_one(&image, 100, 2, 1000);
	struct ext2mb_extent first = append(&image, file, 0, 10);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 990);
	struct ext2mb_extent rest = append(&image, file, 10, 990);
	ck_assert_uint_eq(rest.start, first.start + 10);
	ck_assert_uint_eq(rest.count, 990);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 0);
	ext2mb_file_close(image.worker, file);

	file = open_one(&image, 101, 2, 100);
	append(&image, file, 0, 100);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 0);
	ext2mb_file_close(image.worker, file);
	close_image(&image);
}
END_TEST

/* Large files begin where their stream was last, wherever the policy keeps that; not where the streams began. */
START_TEST(test_begins_at_stream_goal)
{
	const struct policy_options options = { .policy = (enum policy_name)(_i / 2),
		                                .allocator = { .streams = 1,
		                                               .normalization = EXT2MB_NORMALIZE_EXT2MB } };
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .goal = 10 * 2048 + 1000,
		                          .count = 8,
		                          .stream = 12,
		                          .flags = EXT2MB_ALLOC_STREAM | EXT2MB_ALLOC_GOAL_ONLY };
	uint64_t count = _i % 2 ? 3000 : 512; /* of more than a group, or of much in one */
	struct ext2mb_extent extent;
	struct small_image image;

	mb_image_make("-t ext4 -b 4096 -g 2048 -O ^has_journal", "256M");
	small_image_open_policy(&image, &options);
	ck_assert_ok(ext2mb_alloc(image.worker, &request, &extent));
	ck_assert_uint_eq(extent.start, request.goal);
	struct ext2mb_file *file = open_one(&image, 12, 2, 0);
	extent = append(&image, file, 0, count);
	ck_assert_msg(extent.start >= 10 * 2048, "begins in group %llu", (unsigned long long)extent.start / 2048);
	ext2mb_file_close(image.worker, file);
	close_image(&image);
}
END_TEST

START_TEST(test_truncate)
{
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "200M");
	small_image_open(&image, NULL);
	struct ext2mb_file *file = open_one(&image, 100, 2, 0);
	append(&image, file, 0, 100);
	ck_assert_uint_gt(ext2mb_reserved_blocks(image.mb), 0);
	ext2mb_file_truncate(image.worker, file, 50);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 0);
	ext2mb_file_close(image.worker, file);
	close_image(&image);
}
END_TEST

/* The windows of a directory follow one another and become longer, so few are needed and its files lie in a row. */
START_TEST(test_windows_of_a_directory)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct small_image image;
	uint64_t end = 0, searches = 0;

	mb_image_make("-t ext4 -b 4096", "200M");
	small_image_open(&image, NULL);
	for (unsigned int number = 0; number < 1000; number++) {
		struct ext2mb_file *file = open_one(&image, 100, 2, 1);
		struct ext2mb_extent extent = append(&image, file, 0, 1);

		ext2mb_file_close(image.worker, file);
		ck_assert(!number || extent.start == end);
		end = extent.start + 1;
	}
	ck_assert_ok(ext2mb_read_stats(image.mb, &stats));
	for (unsigned int criterion = 0; criterion < 5; criterion++)
		searches += mb_criterion_stats(image.mb, criterion).hits;
	ck_assert_uint_le(searches + stats.goal_hits, 4); /* 32 + 128 + 512 + 512 */
	close_image(&image);
}
END_TEST

/* Small files that grow side by side, where there have been small ones before. */
START_TEST(test_slices)
{
	enum { SIDE_BY_SIDE = 20 };
	struct ext2mb_file *files[SIDE_BY_SIDE];
	uint64_t ends[SIDE_BY_SIDE] = { 0 };
	unsigned int pieces[SIDE_BY_SIDE] = { 0 };
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "200M");
	small_image_open(&image, NULL);
	struct ext2mb_file *first = open_one(&image, 100, 2, 1);
	append(&image, first, 0, 1);
	ext2mb_file_close(image.worker, first);
	for (unsigned int index = 0; index < SIDE_BY_SIDE; index++)
		files[index] = open_one(&image, 101 + index, 2, 0);
	for (uint64_t logical = 0; logical < 4; logical++)
		for (unsigned int index = 0; index < SIDE_BY_SIDE; index++) {
			struct ext2mb_extent extent = append(&image, files[index], logical, 1);

			pieces[index] += extent.start != ends[index];
			ends[index] = extent.start + 1;
		}
	mb_check(image.mb);
	for (unsigned int index = 0; index < SIDE_BY_SIDE; index++) {
		ck_assert_uint_le(pieces[index], 2);
		ext2mb_file_close(image.worker, files[index]);
	}
	/* What they left over is for others, but 20 splinters of 12 blocks are too many; and what is left of windows.
	 */
	ck_assert_uint_le(ext2mb_reserved_blocks(image.mb), 8 * 12 + 512);
	ck_assert_uint_ge(ext2mb_reserved_blocks(image.mb), 5 * 12);
	struct ext2mb_extent extent;
	unsigned int splinters = 0;
	for (uint64_t from = 0; !ext2mb_next_free(image.mb, from, &extent); from = extent.start + extent.count)
		splinters += extent.count == 12;
	ck_assert_uint_ge(splinters, SIDE_BY_SIDE - 9);
	close_image(&image);
}
END_TEST

/* Directories that nobody writes to any more do not keep their windows for ever. */
START_TEST(test_many_directories)
{
	struct small_image image;

	mb_image_make("-t ext4 -b 4096 -N 40000", "6G");
	small_image_open(&image, NULL);
	for (ext2_ino_t parent = 2; parent < 30000; parent++) {
		struct ext2mb_file *file = open_one(&image, 100, parent, 1);

		append(&image, file, 0, 1);
		ext2mb_file_close(image.worker, file);
	}
	mb_check(image.mb);
	ck_assert_uint_gt(ext2mb_reserved_blocks(image.mb), 10000 * 31);
	ck_assert_uint_le(ext2mb_reserved_blocks(image.mb), 1024 * 16 * 31);
	close_image(&image);
}
END_TEST

/* The table's group window and the policies' own defaults. */
START_TEST(test_kernel_window)
{
	const struct policy_options options = { .policy = POLICY_SERIES };
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "200M");
	small_image_open_policy(&image, &options);
	struct ext2mb_file *file = open_one(&image, 100, 2, 0);
	append(&image, file, 0, 1);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 511);
	append(&image, file, 1, 16);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 511 + 32 - 1 - 16); /* 17 blocks: a window up to 32 */
	ext2mb_file_close(image.worker, file);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 511);
	close_image(&image);
}
END_TEST

static errcode_t alloc_with(struct small_image *image, struct ext2mb_file *file, struct ext2mb_file_request request)
{
	struct ext2mb_extent extent;

	return ext2mb_file_alloc(image->worker, file, &request, &extent);
}

START_TEST(test_arguments)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .normalization = 9 };
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 };
	const size_t bytes = sizeof(struct ext2mb_file_request);
	struct small_image image;
	struct ext2mb_file *file;

	mb_image_make("-t ext4 -b 4096 -O bigalloc -C 16384", "200M");
	image.fs = mb_image_open();
	ck_assert_error(ext2mb_open(image.fs, &options, &image.mb), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(ext2fs_close(image.fs));
	small_image_open(&image, NULL);
	info.flags = 8;
	ck_assert_error(ext2mb_file_open(image.worker, &info, &file), EXT2MB_ET_BAD_ARGUMENT);
	info = (struct ext2mb_file_info){ .struct_bytes = sizeof(info) };
	ck_assert_error(ext2mb_file_open(image.worker, &info, &file), EXT2MB_ET_BAD_ARGUMENT);
	info.ino = 12;
	info.parent = UINT32_MAX;
	ck_assert_error(ext2mb_file_open(image.worker, &info, &file), EXT2MB_ET_BAD_ARGUMENT);
	info.parent = 0;
	ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));

	const struct ext2mb_file_request wrong[] = {
		{ .struct_bytes = bytes - 1, .count = 4 },
		{ .struct_bytes = bytes },
		{ .struct_bytes = bytes, .count = 3 },
		{ .struct_bytes = bytes, .count = 4, .logical = 2 },
		{ .struct_bytes = bytes, .count = 4, .logical = UINT64_C(1) << 32 },
		{ .struct_bytes = bytes, .count = 8, .logical = (UINT64_C(1) << 32) - 4 },
		{ .struct_bytes = bytes, .count = 4, .flags = 2 },
		{ .struct_bytes = bytes, .count = 4, .hole_start = 4, .hole_end = 8 },
		{ .struct_bytes = bytes, .count = 8, .hole_end = 4 },
		{ .struct_bytes = bytes, .count = 4, .hole_end = 6 },
		{ .struct_bytes = bytes, .count = 4, .left_physical = 1001 },
		{ .struct_bytes = bytes, .count = 4, .right_physical = UINT64_C(1) << 40 },
	};
	for (size_t index = 0; index < sizeof(wrong) / sizeof(*wrong); index++)
		ck_assert_error(alloc_with(&image, file, wrong[index]), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(alloc_with(&image, file, (struct ext2mb_file_request){ .struct_bytes = bytes, .count = 4 }));
	ext2mb_file_close(image.worker, file);
	ext2mb_file_close(image.worker, NULL);
	close_image(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_growth");
	TCase *tests = tcase_create("growth");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_side_by_side, 0, 4);
	tcase_add_loop_test(tests, test_small_files_follow_one_another, 0, 2);
	tcase_add_test(tests, test_final);
	tcase_add_test(tests, test_truncate);
	tcase_add_loop_test(tests, test_begins_at_stream_goal, 0, 6);
	tcase_add_test(tests, test_windows_of_a_directory);
	tcase_add_test(tests, test_slices);
	tcase_add_test(tests, test_many_directories);
	tcase_add_test(tests, test_kernel_window);
	tcase_add_test(tests, test_arguments);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
