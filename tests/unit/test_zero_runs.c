/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zero_runs_find(): which blocks of a buffer hold only zeros. */
#include "contents/zero_detection.h"

#include <string.h>

#include "support/zeros.h"
#include "unit.h"

static const struct ondisk_format plain = { .block_bytes = 1024, .block_bits = 10 };
static const struct ondisk_format clustered = { .block_bytes = 1024, .block_bits = 10, .cluster_bits = 2 };

static char buffer[16 * 1024];

static void expect_found(const struct ondisk_format *format, uint32_t logical, size_t count, size_t run_count,
                         const struct zero_run *runs)
{
	struct zero_runs list = { 0 };

	ck_assert_int_eq(zero_runs_find(format, 7, logical, buffer, count, &list), 0);
	ck_assert_uint_eq(list.count, run_count);
	for (size_t run = 0; run < run_count; run++) {
		ck_assert_uint_eq(list.runs[run].node, 7);
		ck_assert_uint_eq(list.runs[run].logical, runs[run].logical);
		ck_assert_uint_eq(list.runs[run].blocks, runs[run].blocks);
	}
	free(list.runs);
}

START_TEST(every_single_byte_counts)
{
	size_t missed = 0;

	memset(buffer, 0, sizeof(buffer));
	for (size_t length = 1; length < 70; length++) {
		missed += !bytes_are_zero(buffer, length);
		for (size_t byte = 0; byte < length; byte++) {
			buffer[byte] = 1;
			missed += bytes_are_zero(buffer, length);
			buffer[byte] = 0;
		}
	}
	ck_assert_uint_eq(missed, 0);
}
END_TEST

START_TEST(neighbouring_blocks_are_one_run)
{
	const struct zero_run runs[] = { { 7, 100, 2 }, { 7, 104, 12 } };

	memset(buffer, 0, sizeof(buffer));
	buffer[2 * 1024] = 1;
	buffer[4 * 1024 - 1] = 1;
	expect_found(&plain, 100, sizeof(buffer), 2, runs);
}
END_TEST

START_TEST(the_tail_counts_as_a_block)
{
	const struct zero_run run = { 7, 2, 1 };

	memset(buffer, 'x', sizeof(buffer));
	memset(buffer + 2 * 1024, 0, 10);
	expect_found(&plain, 0, 2 * 1024 + 10, 1, &run);
	expect_found(&plain, 0, 2 * 1024 + 11, 0, NULL);
}
END_TEST

START_TEST(a_cluster_counts_as_a_whole)
{
	const struct zero_run run = { 7, 8, 4 };
	const struct zero_run last = { 7, 4, 2 };

	memset(buffer, 'x', sizeof(buffer));
	memset(buffer + 3 * 1024, 0, 1024); /* a part of a cluster */
	memset(buffer + 8 * 1024, 0, 4 * 1024);
	expect_found(&clustered, 0, sizeof(buffer), 1, &run);
	/* The last cluster may be cut short by the end of the file. */
	memset(buffer + 4 * 1024, 0, 2 * 1024);
	expect_found(&clustered, 0, 5 * 1024 + 1, 1, &last);
}
END_TEST

START_TEST(lists_become_one_in_order)
{
	struct zero_runs all = { 0 }, lists[3] = { 0 };
	char zeros[3 * 1024] = { 0 };

	/* Files 2, 1 and 1 again, found by three workers. */
	ck_assert_int_eq(zero_runs_find(&plain, 2, 5, zeros, 2 * 1024, &lists[0]), 0);
	ck_assert_int_eq(zero_runs_find(&plain, 1, 9, zeros, 3 * 1024, &lists[1]), 0);
	ck_assert_int_eq(zero_runs_find(&plain, 1, 3, zeros, 1024, &lists[2]), 0);
	for (int list = 0; list < 3; list++) {
		ck_assert_int_eq(zero_runs_join(&all, &lists[list]), 0);
		ck_assert_uint_eq(lists[list].count, 0);
		free(lists[list].runs);
	}
	zero_runs_sort(&all);
	ck_assert_uint_eq(all.blocks, 6);
	ck_assert_uint_eq(all.count, 3);
	ck_assert_uint_eq(all.runs[0].logical, 3);
	ck_assert_uint_eq(all.runs[1].logical, 9);
	ck_assert_uint_eq(all.runs[2].node, 2);
	free(all.runs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("zeros");
	TCase *tests = tcase_create("find");

	tcase_add_test(tests, every_single_byte_counts);
	tcase_add_test(tests, neighbouring_blocks_are_one_run);
	tcase_add_test(tests, the_tail_counts_as_a_block);
	tcase_add_test(tests, a_cluster_counts_as_a_whole);
	tcase_add_test(tests, lists_become_one_in_order);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
