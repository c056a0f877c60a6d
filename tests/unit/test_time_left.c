/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/run/time_left.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "recorded_progress.h"
#include "unit.h"

/* Those of populate.c. */
static const struct stage_cost costs[] = {
	{ "scan", 0, 0.95e-6, 0 },       { "format", 12e-3, 0.06e-6, 0 }, { "plan", 0, 0.05e-6, 0 },
	{ "copy", 0, 1.5e-6, 0.285e-9 }, { "seal", 0, 0.22e-6, 0 },
};

#define STAGES (sizeof(costs) / sizeof(*costs))

/*
 * The largest error, as a part of what is left, from a fifth of the time on up to four fifths; as if each stage took
 * `slower[stage]` times as long as was recorded.
 */
static double worst_error(const struct recorded_line *lines, size_t count, double took, struct work whole,
                          double files_of_copy, const double slower[STAGES])
{
	struct time_left left;
	const char *stage = "";
	double begun[64], at[64], said[64], start = 0, stage_seconds = 0, worst = 0;

	ck_assert_uint_le(count, 64);
	time_left_init(&left, costs, STAGES);
	for (size_t i = 0; i < count; i++) {
		size_t number = 0;

		while (strcmp(costs[number].stage, lines[i].stage))
			number++;
		if (strcmp(stage, lines[i].stage)) {
			start += stage_seconds;
			stage = lines[i].stage;
			time_left_begin(&left, stage);
		}
		bool is_copy = !strcmp(stage, "copy"), is_seal = !strcmp(stage, "seal");
		struct work total = { is_copy ? files_of_copy : is_seal ? whole.files : 0, is_copy ? whole.bytes : 0 };
		struct work done = { lines[i].files, lines[i].bytes };

		stage_seconds = lines[i].seconds * slower[number];
		begun[i] = start;
		at[i] = begun[i] + stage_seconds;
		said[i] = time_left_update(&left, stage_seconds, done, total, whole);
		ck_assert(said[i] >= 0 && isfinite(said[i]));
	}
	took = start + stage_seconds > took ? start + stage_seconds : took;
	for (size_t i = 0; i < count; i++)
		if (at[i] >= 0.2 * took && at[i] <= 0.8 * took)
			worst = fmax(worst, fabs(said[i] / (took - at[i]) - 1));
	return worst;
}

#define WORST(name, slower, files, bytes, files_of_copy)                                                               \
	worst_error(name##_lines, sizeof(name##_lines) / sizeof(*name##_lines), name##_seconds,                        \
	            (struct work){ files, bytes }, files_of_copy, slower)

static double worst_of_linux(const double slower[STAGES])
{
	return WORST(linux, slower, 83731, 1298453000, 78549);
}

static double worst_of_all(const double slower[STAGES])
{
	return fmax(worst_of_linux(slower), fmax(WORST(small, slower, 300301, 614000000, 300000),
	                                         WORST(one_directory, slower, 200001, 100000000, 200000)));
}

START_TEST(what_was_recorded_is_within_three_tenths)
{
	static const double as_it_was[STAGES] = { 1, 1, 1, 1, 1 };

	ck_assert_double_le(worst_of_all(as_it_was), 0.3);
}
END_TEST

/* A machine that does all of it a hundred times as slowly shows that itself. */
START_TEST(another_machine_is_as_good)
{
	static const double slower[STAGES] = { 100, 100, 100, 100, 100 };

	ck_assert_double_le(worst_of_all(slower), 0.3);
}
END_TEST

/* Copying to a slow disk: it is known once that has begun. */
START_TEST(copying_shows_how_fast_copying_is)
{
	static const double slower[STAGES] = { 1, 1, 1, 30, 1 };

	ck_assert_double_le(worst_of_linux(slower), 0.35);
}
END_TEST

/*
 * Large files first, then small ones, as copying goes: the pace of the small ones is seen soon, though by bytes nearly
 * all is done. 4000 bytes of data a microsecond and 2 ms a file: a slow source.
 */
START_TEST(the_latest_pace_counts_most)
{
	struct time_left left;
	const struct work whole = { .files = 10100, .bytes = 4.04e9 };
	double seconds = 0, truth = 4.04e9 / 4e9 + 10100 * 2e-3, said = 0;
	struct work done = { 0 };

	time_left_init(&left, costs, STAGES);
	time_left_begin(&left, "copy");
	for (int step = 0; step < 100; step++) {
		done.files++;
		done.bytes += 4e7;
		seconds += 4e7 / 4e9 + 2e-3;
		said = time_left_update(&left, seconds, done, whole, whole);
	}
	for (int step = 0; step < 40; step++) {
		done.files += 100;
		done.bytes += 100 * 4000;
		seconds += 100 * 4000 / 4e9 + 100 * 2e-3;
		said = time_left_update(&left, seconds, done, whole, whole);
	}
	ck_assert_double_le(fabs(said / (truth - seconds) - 1), 0.25);
}
END_TEST

START_TEST(stages_without_a_plan_go_by_their_share)
{
	struct time_left left;

	time_left_init(&left, NULL, 0);
	time_left_begin(&left, "inodes");
	ck_assert_double_lt(time_left_update(&left, 2, (struct work){ 5, 0 }, (struct work){ 0 }, (struct work){ 0 }),
	                    0);
	ck_assert_double_eq_tol(
		time_left_update(&left, 2, (struct work){ 5, 0 }, (struct work){ 20, 0 }, (struct work){ 0 }), 6, 1e-9);
	ck_assert_double_eq_tol(
		time_left_update(&left, 3, (struct work){ 1, 75 }, (struct work){ 20, 100 }, (struct work){ 0 }), 1,
		1e-9);
}
END_TEST

/* A second attempt has all that follows before it once more. */
START_TEST(a_stage_may_begin_again)
{
	struct time_left left;
	const struct work whole = { 1e6, 1e9 };

	time_left_init(&left, costs, STAGES);
	time_left_begin(&left, "seal");
	double last = time_left_update(&left, 0.01, (struct work){ 0 }, whole, whole);

	time_left_begin(&left, "format");
	ck_assert_double_gt(time_left_update(&left, 0.01, (struct work){ 0 }, (struct work){ 0 }, whole), last + 1);
}
END_TEST

/* Linux's source: folders of each level, and all names in them. */
static const uint64_t levels[][2] = {
	{ 1, 38 },      { 24, 1710 },  { 608, 15248 }, { 1505, 26330 }, { 1383, 21665 },
	{ 835, 11967 }, { 287, 3301 }, { 233, 2674 },  { 164, 566 },    { 56, 231 },
};

START_TEST(a_survey_comes_near_before_all_is_read)
{
	const size_t count = sizeof(levels) / sizeof(*levels);
	double truth = 0;
	struct survey survey = { .now = { .folders = 1 } };

	for (size_t level = 0; level < count; level++)
		truth += (double)levels[level][1];
	ck_assert_double_eq(survey_expect(&survey).files, 0);
	for (size_t level = 0; level < count; level++) {
		uint64_t folders_below = level + 1 < count ? levels[level + 1][0] : 0;

		survey.at_level = survey.now;
		for (uint64_t part = 1; part <= 4; part++) {
			survey.now.listed = survey.at_level.listed + levels[level][0] * part / 4;
			survey.now.names = survey.at_level.names + levels[level][1] * part / 4;
			survey.now.folders = survey.at_level.folders + folders_below * part / 4;
			survey.examined = survey.now.names;
			if (!survey.now.listed)
				continue;
			survey.now.bytes = survey.now.names * 10;
			struct work work = survey_expect(&survey);

			ck_assert_double_ge(work.files, (double)survey.now.names);
			if (level >= 3)
				ck_assert_double_le(fabs(work.files / truth - 1), 0.3);
			ck_assert_double_eq_tol(work.bytes, work.files * 10, work.files / 1e6 + 1e-3);
		}
	}
	ck_assert_double_eq(survey_expect(&survey).files, truth);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("time_left");
	TCase *tests = tcase_create("time_left");

	tcase_add_test(tests, what_was_recorded_is_within_three_tenths);
	tcase_add_test(tests, another_machine_is_as_good);
	tcase_add_test(tests, copying_shows_how_fast_copying_is);
	tcase_add_test(tests, the_latest_pace_counts_most);
	tcase_add_test(tests, stages_without_a_plan_go_by_their_share);
	tcase_add_test(tests, a_stage_may_begin_again);
	tcase_add_test(tests, a_survey_comes_near_before_all_is_read);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
