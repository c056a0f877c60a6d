/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/layout.h"

#include "analyze/report/score.h"
#include "unit.h"

#define FAR 1000

static struct histogram sizes;

static struct file_layout layout_of(const struct map_record *records, size_t count)
{
	struct file_layout layout = { 0 };

	sizes = (struct histogram){ 0 };
	for (size_t n = 0; n < count; n++)
		layout_add(&layout, &records[n], FAR, &sizes);
	layout_end(&layout, &sizes);
	ck_assert_uint_eq(sizes.count, layout.counts.extents);
	ck_assert_uint_eq(sizes.sum, layout.counts.blocks);
	return layout;
}

#define LAYOUT(...)                                                                                                    \
	layout_of((const struct map_record[]){ __VA_ARGS__ },                                                          \
	          sizeof((const struct map_record[]){ __VA_ARGS__ }) / sizeof(struct map_record))

START_TEST(neighbours_are_one_extent)
{
	struct file_layout layout =
		LAYOUT({ 0, 100, 10, false }, { 10, 110, 5, true }, { 15, 115, 1, false }, { 16, 116, 1, false });

	ck_assert_uint_eq(layout.counts.blocks, 17);
	ck_assert_uint_eq(layout.counts.records, 4);
	ck_assert_uint_eq(layout.counts.extents, 1);
	ck_assert_uint_eq(layout.counts.runs, 3);
	ck_assert_uint_eq(layout.counts.holes, 0);
	ck_assert_uint_eq(layout.counts.unwritten_blocks, 5);
	ck_assert_uint_eq(layout.counts.unwritten_records, 1);
	ck_assert_uint_eq(layout.counts.seeks.jumps, 0);
	ck_assert_uint_eq(sizes.maximum, 17);
}
END_TEST

START_TEST(holes_may_or_may_not_end_extents)
{
	/* Left out on the disk too; not left out there; neither. */
	struct file_layout layout =
		LAYOUT({ 2, 100, 2, false }, { 10, 108, 2, false }, { 20, 110, 2, false }, { 30, 150, 2, false });

	ck_assert_uint_eq(layout.counts.extents, 2);
	ck_assert_uint_eq(layout.counts.runs, 4);
	ck_assert_uint_eq(layout.counts.holes, 4);
	ck_assert_uint_eq(layout.counts.seeks.jumps, 2);
}
END_TEST

START_TEST(jumps_have_length_and_direction)
{
	struct file_layout layout = LAYOUT({ 0, 5000, 10, false }, { 10, 5020, 10, false }, { 20, 100, 10, false },
	                                   { 30, 1110, 1, false }, { 31, 2112, 1, false }, { 32, 2000, 1, false });

	ck_assert_uint_eq(layout.counts.extents, 6);
	ck_assert_uint_eq(layout.counts.seeks.jumps, 5);
	ck_assert_uint_eq(layout.counts.seeks.far, 2); /* exactly FAR is not */
	ck_assert_uint_eq(layout.counts.seeks.backward, 2);
	ck_assert_uint_eq(layout.first_physical, 5000);
}
END_TEST

/* The figures of Baokun Li's cover letter: files of 1 GiB in blocks of 4 KiB, groups of 32768 blocks, 16 a flex group.
 */
START_TEST(scores_are_those_of_e4defrag)
{
	uint64_t span = score_span(32768, 4);

	ck_assert_uint_eq(span, 524288);
	ck_assert_uint_eq(score_span(32768, 0), 32768);
	ck_assert_uint_eq(score_ideal(0, span), 0);
	ck_assert_uint_eq(score_ideal(1, span), 1);
	ck_assert_uint_eq(score_ideal(span, span), 1);
	ck_assert_uint_eq(score_ideal(span + 1, span), 2);
	ck_assert(score_of(261967, 1, 262144) > 99.5 && score_of(261967, 1, 262144) < 100);
	ck_assert(score_of(588, 1, 262144) > 1.5 && score_of(588, 1, 262144) < 2.5);
	ck_assert(score_of(11, 1, 100) == 80);
	ck_assert(score_of(21, 1, 100) == 84);
	ck_assert(score_of(1, 2, 100) == 0);
	ck_assert(score_of(0, 0, 0) == 0);
}
END_TEST

START_TEST(bands_are_those_of_what_is_shown)
{
	ck_assert_int_eq(score_band(0), SCORE_FINE);
	ck_assert_int_eq(score_band(30.4), SCORE_FINE);
	ck_assert_int_eq(score_band(30.6), SCORE_LITTLE);
	ck_assert_int_eq(score_band(55.4), SCORE_LITTLE);
	ck_assert_int_eq(score_band(55.6), SCORE_DEFRAGMENT);
	ck_assert_int_eq(score_band(100), SCORE_DEFRAGMENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout");
	TCase *tests = tcase_create("layout");

	tcase_add_test(tests, neighbours_are_one_extent);
	tcase_add_test(tests, holes_may_or_may_not_end_extents);
	tcase_add_test(tests, jumps_have_length_and_direction);
	tcase_add_test(tests, scores_are_those_of_e4defrag);
	tcase_add_test(tests, bands_are_those_of_what_is_shown);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
