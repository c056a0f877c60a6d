/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "allocator/preallocation/directory_visits.h"

#include "unit.h"

/* Directories from `first` on, each with so many files, one after the other. */
static void fill(struct directory_visits *visits, ext2_ino_t first, unsigned int directories, unsigned int files)
{
	for (unsigned int number = 0; number < directories; number++)
		for (unsigned int file = 0; file < files; file++)
			directory_visits_note(visits, first + number, file);
}

/* Files to and fro among so many directories. */
static void scatter(struct directory_visits *visits, ext2_ino_t first, unsigned int directories, unsigned int rounds)
{
	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int number = 0; number < directories; number++)
			directory_visits_note(visits, first + number, round);
}

START_TEST(one_after_the_other)
{
	struct directory_visits visits = { 0 };

	ck_assert(!directory_visits_in_order(&visits));
	fill(&visits, 1, 2, 10);
	ck_assert(!directory_visits_in_order(&visits));
	fill(&visits, 3, 1, 10);
	ck_assert(directory_visits_in_order(&visits));
	fill(&visits, 100, 1000, 2);
	ck_assert(directory_visits_in_order(&visits));
}
END_TEST

/* Four streams that one worker serves, as writeback does. */
START_TEST(some_side_by_side)
{
	struct directory_visits visits = { 0 };

	for (unsigned int step = 0; step < 20; step++)
		scatter(&visits, 1 + 4 * step, 4, 10);
	ck_assert(directory_visits_in_order(&visits));
}
END_TEST

/* Four trees that are copied at once, each with files in its uppermost directory between those of the others. */
START_TEST(uppermost_directories)
{
	struct directory_visits visits = { 0 };

	scatter(&visits, 1, 4, 2);
	for (unsigned int step = 0; step < 100; step++) {
		directory_visits_note(&visits, 1 + step % 4, true);
		fill(&visits, 100 + step, 1, 2);
		ck_assert(directory_visits_in_order(&visits));
	}
}
END_TEST

START_TEST(single_files)
{
	struct directory_visits visits = { 0 };

	fill(&visits, 1, 1000, 1);
	ck_assert(!directory_visits_in_order(&visits));
}
END_TEST

START_TEST(to_and_fro)
{
	struct directory_visits visits = { 0 };

	scatter(&visits, 1, DIRECTORY_VISITS_RECENT + 1, 100);
	ck_assert(!directory_visits_in_order(&visits));
}
END_TEST

/* Some files in each, but again and again in the same ones. */
START_TEST(returning)
{
	struct directory_visits visits = { 0 };

	for (unsigned int number = 0; number < 100; number++)
		for (unsigned int file = 0; file < 3; file++)
			directory_visits_note(&visits, 1 + number % 60, number >= 60 || file);
	ck_assert(!directory_visits_in_order(&visits));
}
END_TEST

/* What is done in one directory for long, or in a few in turn, has no end in sight. */
START_TEST(always_there)
{
	struct directory_visits visits = { 0 };

	fill(&visits, 1, 1, 1000);
	ck_assert(!directory_visits_in_order(&visits));
	scatter(&visits, 1, DIRECTORY_VISITS_RECENT, 1000);
	ck_assert(!directory_visits_in_order(&visits));
}
END_TEST

/* What was before is forgotten. */
START_TEST(another_order)
{
	struct directory_visits visits = { 0 };

	fill(&visits, 1, 100, 10);
	scatter(&visits, 1000, 100, 50);
	ck_assert(!directory_visits_in_order(&visits));
	fill(&visits, 2000, 500, 10);
	ck_assert(directory_visits_in_order(&visits));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory_visits");
	TCase *tests = tcase_create("directory_visits");

	tcase_add_test(tests, one_after_the_other);
	tcase_add_test(tests, some_side_by_side);
	tcase_add_test(tests, uppermost_directories);
	tcase_add_test(tests, single_files);
	tcase_add_test(tests, to_and_fro);
	tcase_add_test(tests, returning);
	tcase_add_test(tests, always_there);
	tcase_add_test(tests, another_order);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
