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

/* Commits of 10 changes; writebacks after 15, 35 and 55 of them. */
START_TEST(to_its_place_unless_it_is_in_the_running_transaction)
{
	const struct writeback writeback = { .changes = 10, .commits = 2 };
	struct dirty_blocks placed;

	ck_assert_int_eq(dirty_blocks_open(&placed, 10), 0);
	/* Changed by the commit before, and written; no writeback between the next two changes. */
	dirty_blocks_change(&placed, &writeback, 0, 9);
	dirty_blocks_change(&placed, &writeback, 0, 16);
	ck_assert_uint_eq(placed.writes, 1);
	dirty_blocks_change(&placed, &writeback, 0, 34);
	ck_assert_uint_eq(placed.writes, 1);
	/* Changed just before the writeback: kept for the next one. */
	dirty_blocks_change(&placed, &writeback, 0, 36);
	ck_assert_uint_eq(placed.writes, 1);
	dirty_blocks_change(&placed, &writeback, 1, 34);
	dirty_blocks_change(&placed, &writeback, 1, 56);
	ck_assert_uint_eq(placed.writes, 2);
	/* A block that all commits change early is never written before the end. */
	for (uint32_t change = 0; change < 1000; change += 10)
		dirty_blocks_change(&placed, &writeback, 2, change);
	ck_assert_uint_eq(placed.writes, 2);
	dirty_blocks_write_rest(&placed);
	ck_assert_uint_eq(placed.writes, 5);
	ck_assert_uint_eq(placed.distinct, 3);
	ck_assert_uint_eq(dirty_blocks_most(&placed), 2);
	dirty_blocks_close(&placed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dirty_blocks");
	TCase *tests = tcase_create("dirty_blocks");

	tcase_add_test(tests, once_in_a_commit);
	tcase_add_test(tests, to_its_place_unless_it_is_in_the_running_transaction);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
