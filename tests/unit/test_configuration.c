/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/run/configuration.h"

#include <errno.h>

#include "unit.h"

START_TEST(choices_are_read)
{
	static const struct {
		const char *text;
		errcode_t error;
		uint32_t choices;
	} cases[] = {
		{ "try-lock", 0, CHOICE_TRY_LOCK },
		{ "1", 0, CHOICE_TRY_LOCK },
		{ "4,5,own-pending", 0, CHOICE_STREAM_HINT | CHOICE_SEVERAL_GOALS | CHOICE_OWN_PENDING },
		{ "8-10", 0, CHOICE_PENDING_ATOMIC | CHOICE_MERGE_FIRST | CHOICE_FULL_UNLISTED },
		{ "6,7,12-14", 0, 0 },
		{ "0", EINVAL, 0 },
		{ "18", EINVAL, 0 },
		{ "4-2", EINVAL, 0 },
		{ "4-", EINVAL, 0 },
		{ "-4", EINVAL, 0 },
		{ "try_lock", EINVAL, 0 },
		{ "try-lock,", EINVAL, 0 },
		{ "", EINVAL, 0 },
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		uint32_t choices = 0;
		errcode_t error = configuration_parse_choices(cases[n].text, &choices);

		ck_assert_msg(error == cases[n].error, "%s: %ld", cases[n].text, (long)error);
		if (!error)
			ck_assert_msg(choices == cases[n].choices, "%s: %x", cases[n].text, choices);
	}
}
END_TEST

static uint32_t choices_of(const struct configuration *configuration)
{
	const struct policy_options *options = &configuration->options;

	return (policy_choices(options->policy) | options->choices_added) & ~options->choices_dropped;
}

/* One patch after the other leads from base to the series, and each step changes something. */
START_TEST(patches_lead_to_the_series)
{
	const struct policy_options options = { .allocator.streams = 7 };
	struct configuration *list;
	size_t count;

	ck_assert_int_eq(configuration_list(COMPARE_PATCHES, &options, &list, &count), 0);
	ck_assert_uint_eq(count, 14);
	ck_assert_uint_eq(choices_of(&list[0]), policy_choices(POLICY_BASE));
	ck_assert_uint_eq(choices_of(&list[count - 2]), policy_choices(POLICY_SERIES));
	ck_assert_uint_eq(choices_of(&list[count - 1]), policy_choices(POLICY_EXT2MB));
	for (size_t n = 0; n < count; n++) {
		ck_assert_uint_eq(list[n].options.allocator.streams, 7);
		ck_assert_uint_eq(list[n].options.choices_added & list[n].options.choices_dropped, 0);
		if (n)
			ck_assert_uint_ne(choices_of(&list[n]), choices_of(&list[n - 1]));
	}
	ck_assert_str_eq(list[0].name, "base");
	ck_assert_str_eq(list[count - 1].name, "ext2mb");
	free(list);
}
END_TEST

START_TEST(policies_with_both_scans)
{
	const struct policy_options options = { 0 };
	static const char *const names[] = { "base, linear", "base, indexed", "series, linear", "series, indexed",
		                             "ext2mb" };
	struct configuration *list;
	size_t count;

	ck_assert_int_eq(configuration_list(COMPARE_POLICIES, &options, &list, &count), 0);
	ck_assert_uint_eq(count, 5);
	for (size_t n = 0; n < count; n++)
		ck_assert_str_eq(list[n].name, names[n]);
	free(list);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("configuration");
	TCase *tests = tcase_create("configuration");

	tcase_add_test(tests, choices_are_read);
	tcase_add_test(tests, patches_lead_to_the_series);
	tcase_add_test(tests, policies_with_both_scans);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
