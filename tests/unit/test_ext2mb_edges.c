// SPDX-License-Identifier: GPL-2.0-or-later
/* Where things meet: borders of groups, ends of numbers, requests that contradict themselves. */
#include <string.h>

#include "mb_image.h"
#include "unit.h"

static void open_allocator(ext2_filsys *fs, struct ext2mb **mb, struct ext2mb_worker **worker)
{
	*fs = mb_image_open();
	ck_assert_ok(ext2mb_open(*fs, NULL, mb));
	ck_assert_ok(ext2mb_worker_open(*mb, worker));
}

static void close_allocator(ext2_filsys fs, struct ext2mb *mb, struct ext2mb_worker *worker)
{
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
}

/*
 * Small files that were written in their middle only leave the beginnings and the ends of their windows to the pool of
 * their directory. Where a group ends, an end and a beginning touch, but each belongs to its own group.
 */
START_TEST(test_pool_at_border)
{
	static struct ext2mb_file *files[600];
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -g 512 -G 64 -O ^resize_inode,sparse_super2,^has_journal -N 512", "32M");
	open_allocator(&fs, &mb, &worker);
	for (unsigned int number = 0; number < 600; number++) {
		struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2, .blocks = 16 };
		struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request), .logical = 8, .count = 2, .hole_end = 16
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_open(worker, &info, &files[number]));
		ck_assert_ok(ext2mb_file_alloc(worker, files[number], &request, &extent));
	}
	for (unsigned int number = 0; number < 600; number++) {
		ext2mb_file_close(worker, files[number]);
		mb_check(mb);
	}
	ck_assert_ok(ext2mb_sync(mb));
	mb_check(mb);
	ck_assert_uint_eq(ext2mb_reserved_blocks(mb), 0);
	close_allocator(fs, mb, worker);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_edges");
	TCase *tests = tcase_create("edges");

	tcase_set_timeout(tests, 60);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_test(tests, test_pool_at_border);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
