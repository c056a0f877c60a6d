// SPDX-License-Identifier: GPL-2.0-or-later
/* What e2frag advises for which figures. */
#include "analyze/report/report.h"

#include "unit.h"

struct figures {
	uint64_t extents, ideal_extents, runs, blocks;
	uint64_t free_runs, free_blocks; /* so many runs of so many blocks */
	const char *advice;
};

static const struct figures cases[] = {
	{ 100, 100, 100, 10000, 1, 5000, "Nothing needs to be done." },
	{ 9000, 100, 9000, 10000, 2, 5000, "e4defrag on the worst files (mounted) can join them." },
	{ 9000, 100, 9000, 10000, 5000, 3,
	  "Half of the free space lies in pieces below 1 MiB: free some first, or copy everything." },
	{ 9000, 100, 9000, 10000, 0, 0, "Nothing is free to join extents with: free some space first." },
	/* Parted by holes only. */
	{ 100, 100, 9000, 10000, 2, 5000, "Holes and unwritten blocks make this score: the files lie well." },
};

START_TEST(test_advice)
{
	const struct figures *figures = &cases[_i];
	static struct report report;

	report = (struct report){
		.filesystem = { .block_bytes = 4096, .blocks_per_group = 32768, .has_extents = true },
		.files.regular = { .extents = figures->extents, .ideal_extents = figures->ideal_extents,
		                   .runs = figures->runs, .blocks = figures->blocks },
		.files.score = score_of(figures->runs, figures->ideal_extents, figures->blocks),
	};
	for (uint64_t run = 0; run < figures->free_runs; run++)
		histogram_add(&report.free.sizes, figures->free_blocks);
	verdict_make(&report);
	ck_assert_uint_eq(report.verdict.advice_count, 1);
	ck_assert_str_eq(report.verdict.advice[0], figures->advice);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *tests = tcase_create("advice");

	tcase_add_loop_test(tests, test_advice, 0, sizeof(cases) / sizeof(*cases));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
