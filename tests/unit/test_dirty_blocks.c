/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/dirty_blocks.h"

#include "unit.h"

START_TEST(once_in_a_commit)
{
	struct dirty_blocks dirty;

	ck_assert_int_eq(dirty_blocks_open(&dirty, 10), 0);
	dirty_blocks_mark(&dirty, 3, 1);
	dirty_blocks_mark(&dirty, 9, 1);
	dirty_blocks_mark(&dirty, 3, 1);
	ck_assert_uint_eq(dirty_blocks_most(&dirty), 1);
	ck_assert_uint_eq(dirty.writes, 2);
	ck_assert_uint_eq(dirty.distinct, 2);
	dirty_blocks_mark(&dirty, 3, 2);
	dirty_blocks_mark(&dirty, 3, 5);
	dirty_blocks_mark(&dirty, 0, 5);
	ck_assert_uint_eq(dirty.writes, 5);
	ck_assert_uint_eq(dirty.distinct, 3);
	ck_assert_uint_eq(dirty_blocks_most(&dirty), 3);
	dirty_blocks_close(&dirty);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dirty_blocks");
	TCase *tests = tcase_create("dirty_blocks");

	tcase_add_test(tests, once_in_a_commit);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
