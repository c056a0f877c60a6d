/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/report.h"

#include <stdlib.h>

#include "seeded_random.h"
#include "unit.h"

enum { FILES = 2000 };

static int worse_first(const void *left, const void *right)
{
	const struct report_file *a = left, *b = right;
	uint64_t first = a->runs - a->ideal_extents, second = b->runs - b->ideal_extents;
	static const int ranks[] = { [FILE_SCATTERED] = 0, [FILE_WELL] = 1, [FILE_SPLIT] = 1, [FILE_SPARSE] = 2 };

	if (ranks[a->kind] != ranks[b->kind])
		return ranks[a->kind] - ranks[b->kind];
	if (first != second)
		return first > second ? -1 : 1;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

START_TEST(the_worst_are_kept_in_order)
{
	static struct report_file files[FILES];
	struct random random = random_start("the_worst_are_kept_in_order");

	for (uint32_t limit = 0; limit < 40; limit += 13) {
		struct worst_files worst = { .limit = limit };

		for (uint32_t n = 0; n < FILES; n++) {
			files[n] = (struct report_file){ .ino = FILES - n, .ideal_extents = random_below(&random, 5) };
			files[n].runs = files[n].ideal_extents + random_below(&random, 50);
			files[n].extents = random_below(&random, 100);
			files[n].kind = (enum file_kind)random_below(&random, 4);
			ck_assert_int_eq(worst_add(&worst, &files[n]), 0);
		}
		worst_sort(&worst);
		qsort(files, FILES, sizeof(*files), worse_first);
		ck_assert_uint_eq(worst.count, limit);
		for (uint32_t n = 0; n < limit; n++)
			ck_assert_uint_eq(worst.files[n].ino, files[n].ino);
		free(worst.files);
	}
}
END_TEST

START_TEST(the_ideal_is_not_bad)
{
	struct worst_files worst = { .limit = 3 };

	ck_assert_int_eq(worst_add(&worst, &(struct report_file){ .ino = 1, .runs = 2, .ideal_extents = 2 }), 0);
	ck_assert_int_eq(worst_add(&worst, &(struct report_file){ .ino = 2, .runs = 1, .ideal_extents = 2 }), 0);
	ck_assert_uint_eq(worst.count, 0);
	worst_sort(&worst);
}
END_TEST

/* Which are named does not depend on who met them first. */
START_TEST(the_first_damage_is_named)
{
	struct damage_list lists[3] = { 0 }, sum = { 0 };

	for (uint32_t ino = 100; ino > 0; ino--)
		damage_add(&lists[ino % 3], ino, ino % 7, "extent");
	damage_add(&lists[0], 1, 1, "directory block");
	for (unsigned int n = 0; n < 3; n++)
		damage_merge(&sum, &lists[n]);
	ck_assert_uint_eq(sum.count, 101);
	ck_assert_uint_eq(sum.kept, REPORT_MAX_DAMAGE);
	ck_assert_str_eq(sum.first[0].what, "directory block");
	for (uint32_t n = 1; n < REPORT_MAX_DAMAGE; n++)
		ck_assert_uint_eq(sum.first[n].ino, n);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worst");
	TCase *tests = tcase_create("worst");

	tcase_add_test(tests, the_worst_are_kept_in_order);
	tcase_add_test(tests, the_ideal_is_not_bad);
	tcase_add_test(tests, the_first_damage_is_named);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
