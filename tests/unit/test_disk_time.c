/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modelled disk: what follows costs its transfer alone, and writes go in the order of their places. */
#include "simulate/results/disk_time.h"

#include "unit.h"

#define BLOCK 4096u
#define NEAR 1e-9

static double transfer(uint64_t blocks)
{
	return (double)blocks * BLOCK / 130e6;
}

START_TEST(what_follows_costs_its_transfer)
{
	struct disk_time disk = { .block_bytes = BLOCK };

	disk_time_read(&disk, 0, 1000);
	disk_time_read(&disk, 1000, 24);
	ck_assert_double_eq_tol(disk.seconds, transfer(1024), NEAR);
	/* A gap that is shorter than a seek passes. */
	disk_time_read(&disk, 1034, 1);
	ck_assert_double_eq_tol(disk.seconds, transfer(1035), NEAR);
	disk_time_close(&disk);
}
END_TEST

START_TEST(a_seek_grows_with_its_distance)
{
	struct disk_time near = { .block_bytes = BLOCK }, far = near, back = near;

	disk_time_read(&near, 1000000, 1);
	disk_time_read(&far, 100000000, 1);
	ck_assert_double_gt(near.seconds, 0.8e-3 + 4.17e-3);
	ck_assert_double_gt(far.seconds, near.seconds);
	ck_assert_double_lt(far.seconds, 16e-3 + 4.17e-3 + transfer(1));
	/* It takes as long as the square root of the way, from 0.8 to 16 ms, and then half a revolution. */
	struct disk_time quarter = { .block_bytes = BLOCK };

	disk_time_read(&quarter, (uint64_t)(1e12 / 4 / BLOCK), 1);
	ck_assert_double_eq_tol(quarter.seconds, 0.8e-3 + 15.2e-3 / 2 + 4.17e-3 + transfer(1), 1e-6);
	disk_time_close(&quarter);
	/* Backwards even a short way is half a revolution. */
	back.head = 10;
	disk_time_read(&back, 9, 1);
	ck_assert_double_gt(back.seconds, 4.17e-3);
	disk_time_close(&near);
	disk_time_close(&far);
	disk_time_close(&back);
}
END_TEST

START_TEST(writes_are_sorted)
{
	struct disk_time sorted = { .block_bytes = BLOCK }, reads = sorted;

	for (uint64_t block = 0; block < 100; block++) {
		ck_assert_int_eq(disk_time_write(&sorted, 99 - block, 1), 0);
		disk_time_read(&reads, 99 - block, 1);
	}
	ck_assert_double_eq(sorted.seconds, 0);
	disk_time_flush(&sorted);
	ck_assert_double_eq_tol(sorted.seconds, transfer(100), NEAR);
	ck_assert_double_gt(reads.seconds, 99 * 4.17e-3);
	disk_time_flush(&sorted);
	ck_assert_double_eq_tol(sorted.seconds, transfer(100), NEAR);
	disk_time_close(&sorted);
	disk_time_close(&reads);
}
END_TEST

START_TEST(as_much_as_is_kept_is_written)
{
	const uint64_t most = DISK_WRITEBACK_BYTES / BLOCK;
	struct disk_time disk = { .block_bytes = BLOCK };

	ck_assert_int_eq(disk_time_write(&disk, 0, most - 1), 0);
	ck_assert_double_eq(disk.seconds, 0);
	ck_assert_int_eq(disk_time_write(&disk, most - 1, 1), 0);
	ck_assert_double_eq_tol(disk.seconds, transfer(most), NEAR);
	disk_time_close(&disk);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("disk_time");
	TCase *tests = tcase_create("disk_time");

	tcase_add_test(tests, what_follows_costs_its_transfer);
	tcase_add_test(tests, a_seek_grows_with_its_distance);
	tcase_add_test(tests, writes_are_sorted);
	tcase_add_test(tests, as_much_as_is_kept_is_written);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
