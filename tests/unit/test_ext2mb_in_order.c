/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where files come to lie that are written directory by directory, and those that are longer than a group. */
#include <stdbool.h>
#include <string.h>

#include "mb_image.h"
#include "unit.h"

struct growing {
	struct ext2mb_file *file;
	uint64_t blocks, start, end;
	unsigned int pieces;
};

static void begin(struct small_image *image, struct growing *growing, ext2_ino_t ino, ext2_ino_t parent, uint64_t final)
{
	const struct ext2mb_file_info info = { sizeof(info), final, ino, parent, final ? EXT2MB_FILE_FINAL : 0 };

	*growing = (struct growing){ 0 };
	ck_assert_ok(ext2mb_file_open(image->worker, &info, &growing->file));
}

static void grow(struct small_image *image, struct growing *growing, uint64_t blocks, uint32_t flags)
{
	const uint64_t end = growing->blocks + blocks;

	while (growing->blocks < end) {
		const struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = growing->blocks,
			.count = end - growing->blocks,
			.whole_count = blocks,
			.flags = flags,
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_alloc(image->worker, growing->file, &request, &extent));
		if (!growing->blocks)
			growing->start = extent.start;
		growing->pieces += extent.start != growing->end;
		growing->end = extent.start + extent.count;
		growing->blocks += extent.count;
	}
}

static void end(struct small_image *image, struct growing *growing)
{
	ext2mb_file_close(image->worker, growing->file);
}

enum { DIRECTORIES = 60, FILES = 9 };

/* Record by record, of 1 to 80 blocks: each file in one piece, but for those at the ends of windows; no splinters. */
START_TEST(test_unpacked)
{
	const struct ext2mb_options options = {
		.struct_bytes = sizeof(options),
		.normalization = _i ? EXT2MB_NORMALIZE_TABLE : EXT2MB_NORMALIZE_EXT2MB,
	};
	struct small_image image;
	unsigned int pieces = 0;

	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, &options);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++) {
		unsigned int blocks = number % FILES * number % 81 + 1;
		struct growing file;

		begin(&image, &file, 1000 + number, 100 + number / FILES, 0);
		while (file.blocks < blocks)
			grow(&image, &file, blocks - file.blocks < 2 ? 1 : 2, 0);
		end(&image, &file);
		pieces += file.pieces;
	}
	ck_assert_ok(ext2mb_sync(image.mb));
	if (_i) {
		ck_assert_uint_gt(pieces, DIRECTORIES * FILES * 5 / 4);
		ck_assert_uint_gt(mb_free_extents(image.mb), before + DIRECTORIES / 2);
	} else {
		ck_assert_uint_le(pieces, DIRECTORIES * FILES * 21 / 20);
		ck_assert_uint_le(mb_free_extents(image.mb), before + 8);
	}
	small_image_close(&image);
}
END_TEST

/* Files whose ends are known, small ones and longer ones: side by side, whatever their directories. */
START_TEST(test_copied)
{
	struct small_image image;
	uint64_t first = 0, last = 0, sum = 0;

	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++) {
		unsigned int blocks = number % FILES == 8 ? 100 : number % 7 + 1;
		struct growing file;

		begin(&image, &file, 1000 + number, 100 + number / FILES, blocks);
		grow(&image, &file, blocks, 0);
		end(&image, &file);
		ck_assert_uint_eq(file.pieces, 1);
		/* The first three show that there is an order. */
		if (number < 3 * FILES)
			continue;
		if (!first || file.start < first)
			first = file.start;
		if (file.end > last)
			last = file.end;
		sum += blocks;
	}
	ck_assert_ok(ext2mb_sync(image.mb));
	ck_assert_uint_le(last - first, sum * 5 / 4);
	ck_assert_uint_le(mb_free_extents(image.mb), before + 8);
	small_image_close(&image);
}
END_TEST

/* One that is written back in part, while others are closed: it has room to go on. */
START_TEST(test_in_part)
{
	struct small_image image;
	struct growing file, part = { 0 };

	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, NULL);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++) {
		if (number == 20 * FILES) {
			begin(&image, &part, 2000, 100 + number / FILES, 0);
			grow(&image, &part, 3, 0);
		}
		begin(&image, &file, 1000 + number, 100 + number / FILES, 2);
		grow(&image, &file, 2, 0);
		end(&image, &file);
		if (number == 21 * FILES) {
			grow(&image, &part, 9, 0);
			end(&image, &part);
		}
	}
	ck_assert_uint_eq(part.pieces, 1);
	small_image_close(&image);
}
END_TEST

/* To and fro among many directories: the files of each lie behind one another nevertheless. */
START_TEST(test_to_and_fro)
{
	static uint64_t behind[DIRECTORIES];
	struct small_image image;
	unsigned int jumps = 0;

	memset(behind, 0, sizeof(behind));
	mb_image_make("-t ext4 -b 4096", "1G");
	small_image_open(&image, NULL);
	for (unsigned int number = 0; number < DIRECTORIES * FILES; number++) {
		unsigned int directory = number % DIRECTORIES;
		struct growing file;

		begin(&image, &file, 1000 + number, 100 + directory, 2);
		grow(&image, &file, 2, 0);
		end(&image, &file);
		jumps += file.start != behind[directory];
		behind[directory] = file.end;
	}
	ck_assert_uint_eq(jumps, DIRECTORIES);
	small_image_close(&image);
}
END_TEST

static void take_block(struct small_image *image, uint64_t block)
{
	const struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = block,
		.count = 1,
		.flags = EXT2MB_ALLOC_GOAL_ONLY,
	};
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_alloc(image->worker, &request, &extent));
}

/* What is longer than a group goes where as many groups on end are free as it needs, and no more than it must. */
START_TEST(test_several_groups)
{
	const uint64_t group = 8192;
	struct small_image image;
	struct growing file;

	mb_image_make("-t ext4 -b 4096 -g 8192 -O ^has_journal,sparse_super2,^resize_inode -E num_backup_sb=0", "1G");
	small_image_open(&image, NULL);
	/* 32 groups in two flex groups: 11 on end are free in the first one, and 9 in the other. */
	take_block(&image, 4 * group);
	take_block(&image, 22 * group);
	begin(&image, &file, 101, 2, 9 * group);
	grow(&image, &file, 9 * group, 0);
	ck_assert_uint_eq(file.pieces, 1);
	ck_assert_uint_eq(file.start, 22 * group + 1);
	end(&image, &file);
	begin(&image, &file, 100, 2, 0);
	grow(&image, &file, 11 * group, EXT2MB_FILE_UNWRITTEN);
	ck_assert_uint_eq(file.pieces, 1);
	ck_assert_uint_eq(file.start, 4 * group + 1);
	end(&image, &file);
	small_image_close(&image);
}
END_TEST

/* What begins with much begins the only free group, though others have long enough buddies. */
START_TEST(test_begins_group)
{
	const uint64_t group = 8192;
	struct small_image image;
	struct growing file;

	mb_image_make("-t ext4 -b 4096 -g 8192 -O ^has_journal", "1G");
	small_image_open(&image, NULL);
	for (unsigned int number = 0; number < 32; number++)
		if (number != 20)
			take_block(&image, number * group + 5000);
	begin(&image, &file, 100, 2, 0);
	for (unsigned int piece = 0; piece < 8; piece++)
		grow(&image, &file, 1024, 0);
	ck_assert_uint_eq(file.start, 20 * group);
	ck_assert_uint_eq(file.pieces, 1);
	end(&image, &file);
	small_image_close(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_in_order");
	TCase *tests = tcase_create("in_order");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_unpacked, 0, 2);
	tcase_add_test(tests, test_copied);
	tcase_add_test(tests, test_in_part);
	tcase_add_test(tests, test_to_and_fro);
	tcase_add_test(tests, test_several_groups);
	tcase_add_test(tests, test_begins_group);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
