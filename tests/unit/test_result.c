/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/run/load.h"
#include "simulate/run/result.h"

#include "unit.h"

static void add(struct result *result, const char *section, const char *key, enum result_kind kind, double value)
{
	result_add(result, section, kind, (const struct named_value[]){ { key, "label", value, 1 }, { 0 } });
}

START_TEST(values_are_found_by_section)
{
	static struct result result;
	char section[] = "tar", key[] = "extents", text[RESULT_TEXT_BYTES];

	result.count = 0;
	add(&result, NULL, "extents", RESULT_LAYOUT, 1);
	add(&result, "untar", "extents", RESULT_LAYOUT, 2);
	add(&result, "tar", "extents", RESULT_LAYOUT, 3);
	ck_assert_double_eq(result_find(&result, NULL, key)->value, 1);
	ck_assert_double_eq(result_find(&result, section, key)->value, 3);
	ck_assert_ptr_null(result_find(&result, section, "blocks"));
	ck_assert_ptr_null(result_find(&result, "dd", key));
	ck_assert_str_eq(result_format(result_find(&result, section, key), text), "3.0");
}
END_TEST

START_TEST(medians_of_what_was_measured)
{
	static struct result runs[4], median;
	const double measured[] = { 9, 1, 5, 3 };

	for (size_t run = 0; run < 4; run++) {
		runs[run].count = 0;
		add(&runs[run], NULL, "seconds", RESULT_MEASURED, measured[run]);
		add(&runs[run], NULL, "extents", RESULT_LAYOUT, 10.0 + (double)run);
	}
	result_median(runs, 1, &median);
	ck_assert_double_eq(median.values[0].value, 9);
	result_median(runs, 3, &median);
	ck_assert_double_eq(median.values[0].value, 5);
	ck_assert_double_eq(median.values[1].value, 10);
	result_median(runs, 4, &median);
	ck_assert_double_eq(median.values[0].value, 4);
	ck_assert_double_eq(median.values[0].lower, 2.5);
	ck_assert_double_eq(median.values[0].upper, 6);
	char text[RESULT_TEXT_BYTES];
	ck_assert_str_eq(result_format(&median.values[0], text), "4.0 (2.5-6.0)");
	ck_assert_str_eq(result_format(&median.values[1], text), "10.0");
	ck_assert_uint_eq(median.count, 2);
}
END_TEST

START_TEST(others_disturb_who_needs_their_processors)
{
	ck_assert(!load_disturbs(1, 0, 2));
	ck_assert(load_disturbs(1.3, 1, 2));
	ck_assert(load_disturbs(0.3, 2, 2));
	ck_assert(!load_disturbs(0.1, 64, 2));
	/* Not known. */
	ck_assert(!load_disturbs(-1, 64, 2));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("result");
	TCase *tests = tcase_create("result");

	tcase_add_test(tests, values_are_found_by_section);
	tcase_add_test(tests, medians_of_what_was_measured);
	tcase_add_test(tests, others_disturb_who_needs_their_processors);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
