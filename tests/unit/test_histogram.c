/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "seeded_random.h"
#include "unit.h"

static struct histogram histogram;

static void setup(void)
{
	memset(&histogram, 0, sizeof(histogram));
}

START_TEST(an_empty_one_is_all_zero)
{
	uint64_t count, sum;

	ck_assert_uint_eq(histogram_percentile(&histogram, 50), 0);
	ck_assert_uint_eq(histogram_weighted_percentile(&histogram, 50), 0);
	ck_assert(histogram_mean(&histogram) == 0);
	histogram_power(&histogram, 63, &count, &sum);
	ck_assert_uint_eq(count + sum, 0);
}
END_TEST

START_TEST(small_values_are_exact)
{
	for (uint64_t value = 1; value <= 100; value++)
		histogram_add(&histogram, value);
	ck_assert_uint_eq(histogram_percentile(&histogram, 0), 1);
	ck_assert_uint_eq(histogram_percentile(&histogram, 1), 1);
	ck_assert_uint_eq(histogram_percentile(&histogram, 50), 50);
	ck_assert_uint_eq(histogram_percentile(&histogram, 99), 99);
	ck_assert_uint_eq(histogram_percentile(&histogram, 100), 100);
	/* 1 + ... + 71 = 2556 is the first sum that reaches half of 5050. */
	ck_assert_uint_eq(histogram_weighted_percentile(&histogram, 50), 71);
	ck_assert(histogram_mean(&histogram) == 50.5);
}
END_TEST

START_TEST(powers_have_their_borders)
{
	uint64_t count, sum;

	for (unsigned int power = 0; power < 64; power++) {
		histogram_add(&histogram, UINT64_C(1) << power);
		histogram_add(&histogram, (UINT64_C(2) << power) - 1);
	}
	histogram_add(&histogram, 0);
	for (unsigned int power = 0; power < 64; power++) {
		histogram_power(&histogram, power, &count, &sum);
		ck_assert_uint_eq(count, power ? 2 : 3);
		ck_assert_uint_eq(sum, power ? (UINT64_C(3) << power) - 1 : 2);
	}
	ck_assert_uint_eq(histogram.minimum, 0);
	ck_assert_uint_eq(histogram.maximum, UINT64_MAX);
}
END_TEST

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

START_TEST(parts_add_up_to_the_whole_within_a_64th)
{
	enum { VALUES = 20000 };
	static uint64_t values[VALUES];
	static struct histogram parts[3], sum;
	struct random random = random_start("parts_add_up_to_the_whole_within_a_64th");

	memset(parts, 0, sizeof(parts));
	memset(&sum, 0, sizeof(sum));
	for (unsigned int n = 0; n < VALUES; n++) {
		values[n] = random_next(&random) >> (20 + random_next(&random) % 44);
		histogram_add(&histogram, values[n]);
		histogram_add(&parts[n % 3], values[n]);
	}
	for (unsigned int part = 3; part-- > 0;)
		histogram_merge(&sum, &parts[part]);
	ck_assert_mem_eq(&sum, &histogram, sizeof(sum));
	qsort(values, VALUES, sizeof(*values), by_value);
	for (unsigned int percent = 1; percent <= 100; percent++) {
		uint64_t wanted = values[(uint64_t)VALUES * percent / 100 - 1];
		uint64_t found = histogram_percentile(&histogram, percent);

		ck_assert_msg(found <= wanted + wanted / 64 && found + wanted / 64 >= wanted, "%u%%: %lu for %lu",
		              percent, (unsigned long)found, (unsigned long)wanted);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("histogram");
	TCase *tests = tcase_create("histogram");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, an_empty_one_is_all_zero);
	tcase_add_test(tests, small_values_are_exact);
	tcase_add_test(tests, powers_have_their_borders);
	tcase_add_test(tests, parts_add_up_to_the_whole_within_a_64th);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
