/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files in many directories on a filesystem that is nearly empty: what free space is left, and who lies where. */
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

/* Writes it and closes it. A directory has every 128th inode, as ext2mb_inode_alloc() gives them. */
static struct ext2mb_extent write_file(struct small_image *image, unsigned int number, unsigned int directory,
                                       uint64_t blocks)
{
	const struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = 8000 + number,
		.parent = 129 + 128 * directory,
		.blocks = blocks,
		.flags = EXT2MB_FILE_FINAL,
	};
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.count = blocks,
		.whole_count = blocks,
	};
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(image->worker, &info, &file));
	ck_assert_ok(ext2mb_file_alloc(image->worker, file, &request, &extent));
	ck_assert_uint_eq(extent.count, blocks);
	ext2mb_file_close(image->worker, file);
	return extent;
}

enum { DIRECTORIES = 40, FILES = 1500 };

/* The preallocations of directories leave no holes, whichever directory gets how much. */
START_TEST(test_no_order)
{
	struct random random = random_start("no order");
	struct small_image image;

	mb_image_make(_i ? "-t ext4 -b 1024" : "-t ext4 -b 4096", "2G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < FILES; number++) {
		unsigned int directory = (unsigned int)random_below(&random, DIRECTORIES);

		write_file(&image, number, directory, 1 + random_below(&random, 1 + random_below(&random, 6)));
	}
	mb_expect_free_extents(image.mb, before + 12);
	small_image_close(&image);
}
END_TEST

/* Three directories in turn may have a long preallocation each: the files of each lie behind one another. */
START_TEST(test_few)
{
	uint64_t behind[3] = { 0 };
	struct small_image image;
	unsigned int jumps = 0;

	mb_image_make("-t ext4 -b 4096", "2G");
	small_image_open(&image, NULL);
	/* Others before them. */
	for (unsigned int number = 0; number < 400; number++)
		write_file(&image, number, 3 + number % 20, 2);
	for (unsigned int number = 0; number < FILES; number++) {
		const struct ext2mb_extent extent = write_file(&image, 400 + number, number % 3, 2);

		jumps += extent.start != behind[number % 3];
		behind[number % 3] = extent.start + extent.count;
	}
	printf("# %u jumps\n", jumps);
	ck_assert_uint_le(jumps, 3 * 12);
	small_image_close(&image);
}
END_TEST

/* A tree whose first directories have a file each: what is reserved for them is used up by those that follow. */
START_TEST(test_then_in_order)
{
	struct small_image image;
	unsigned int number = 0;

	mb_image_make("-t ext4 -b 4096", "2G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int directory = 0; directory < 30; directory++)
		write_file(&image, number++, directory, 2);
	for (unsigned int directory = 30; directory < 90; directory++)
		for (unsigned int file = 0; file < 12; file++)
			write_file(&image, number++, directory, 1 + file % 3);
	mb_expect_free_extents(image.mb, before + 5);
	small_image_close(&image);
}
END_TEST

/* A package's files of unknown size, which are held open until all are written: few of them leave a hole. */
START_TEST(test_held_open)
{
	static struct ext2mb_file *files[400];
	struct random random = random_start("held open");
	struct small_image image;

	mb_image_make("-t ext4 -b 4096", "2G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < 400; number++) {
		const struct ext2mb_file_info info = { sizeof(info), 0, 8000 + number, 129 + 128 * (number / 20), 0 };
		const struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.count = 1 + random_below(&random, 29),
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_open(image.worker, &info, &files[number]));
		ck_assert_ok(ext2mb_file_alloc(image.worker, files[number], &request, &extent));
		ck_assert_uint_eq(extent.count, request.count);
	}
	for (unsigned int number = 0; number < 400; number++)
		ext2mb_file_close(image.worker, files[number]);
	mb_expect_free_extents(image.mb, before + 100);
	small_image_close(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_scattered");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_no_order, 0, 2);
	tcase_add_test(tests, test_few);
	tcase_add_test(tests, test_then_in_order);
	tcase_add_test(tests, test_held_open);
	return run_suite(suite);
}
