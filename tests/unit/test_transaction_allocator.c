/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A transaction and an allocator of ext2mb_open(): what the allocator will write counts for whether a step must begin
 * with a commit, so that many small steps never become a transaction that is larger than the journal.
 */
#include "transaction_image.h"
#include "unit.h"

#define GROUPS 1100 /* their bitmaps alone do not fit the journal of 1024 blocks */
#define GROUP_BLOCKS 256

START_TEST(steps_commit_before_bitmaps_fill_the_journal)
{
	static struct ext2mb_extent extents[GROUPS];
	struct ext2mb_worker *worker;
	struct ext2mb *mb;

	mb_image_make("-t ext4 -b 1024 -g 256 -N 8800 -J size=1 -O ^resize_inode,^flex_bg", "275M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_uint_ge(fs->group_desc_count, GROUPS - 1);
	ck_assert_uint_le(fs->group_desc_count, GROUPS);
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	for (uint32_t group = 0; group + 1 < fs->group_desc_count; group++) {
		const struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = 1 + (uint64_t)group * GROUP_BLOCKS,
			.count = 1,
		};

		ck_assert_ok(ext2mb_transaction_begin(fs));
		ck_assert_ok(ext2mb_alloc(worker, &request, &extents[group]));
		ck_assert_ok(ext2mb_transaction_end(fs));
	}
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_uint_ge(transaction_image_info(fs).commits, 2);
	ck_assert_uint_lt(transaction_image_info(fs).commits, 10);
	for (uint32_t group = 0; group + 1 < fs->group_desc_count; group++) {
		ck_assert_ok(ext2mb_transaction_begin(fs));
		ck_assert_ok(ext2mb_free(worker, extents[group].start, extents[group].count));
		ck_assert_ok(ext2mb_transaction_end(fs));
	}
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_uint_lt(transaction_image_info(fs).commits, 20);
	ext2mb_worker_close(worker);
	ck_assert_ok(ext2mb_close(mb));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

static Suite *transaction_allocator_suite(void)
{
	Suite *suite = suite_create("transaction_allocator");
	TCase *tests = mb_image_case(suite);

	tcase_add_test(tests, steps_commit_before_bitmaps_fill_the_journal);
	return suite;
}

int main(void)
{
	return run_suite(transaction_allocator_suite());
}
