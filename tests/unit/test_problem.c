/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/problem.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static void expect_text(const struct problem *problem, const char *text)
{
	SCOPE_FREE char *got = problem_text(problem);

	ck_assert_str_eq(got, text);
}

START_TEST(the_first_problem_stays)
{
	struct problem problem = { 0 };

	ck_assert_int_eq(problem_set(&problem, ENOENT, "/a/b", "cannot open"), ENOENT);
	ck_assert_int_eq(problem_set(&problem, EIO, "/c", "cannot read"), EIO);
	ck_assert_int_eq(problem_set_reason(&problem, EPERM, "/d", "cannot write", "%d", 1), EPERM);
	ck_assert_int_eq(problem.error, ENOENT);
	expect_text(&problem, "/a/b: cannot open: No such file or directory");
	problem_clear(&problem);
	ck_assert_int_eq(problem.error, 0);
	ck_assert_int_eq(problem_set(&problem, EIO, NULL, "cannot read"), EIO);
	expect_text(&problem, "cannot read: Input/output error");
	problem_clear(&problem);
}
END_TEST

START_TEST(a_reason_replaces_the_error_message)
{
	struct problem problem = { 0 };

	ck_assert_int_eq(problem_set_reason(&problem, EINVAL, "x", "cannot use", "%s is %d too long", "it", 3), EINVAL);
	expect_text(&problem, "x: cannot use: it is 3 too long");
	problem_clear(&problem);
}
END_TEST

START_TEST(more_follows_the_reason)
{
	struct problem problem = { 0 };

	problem_add(&problem, "nothing");
	expect_text(&problem, "");
	ck_assert_int_eq(problem_set(&problem, EIO, "x", "cannot read"), EIO);
	problem_add(&problem, "; %s is gone", "y");
	problem_add(&problem, " (%d)", 2);
	expect_text(&problem, "x: cannot read: Input/output error; y is gone (2)");
	problem_clear(&problem);
}
END_TEST

START_TEST(absent_parts_leave_no_punctuation)
{
	struct problem problem = { 0 };

	expect_text(&problem, "");
	problem.error = EIO;
	expect_text(&problem, "Input/output error");
	problem.action = "cannot read";
	expect_text(&problem, "cannot read: Input/output error");
	problem.path = strdup("p");
	expect_text(&problem, "p: cannot read: Input/output error");
	problem.action = NULL;
	expect_text(&problem, "p: Input/output error");
	problem_clear(&problem);
}
END_TEST

START_TEST(a_name_is_no_second_line)
{
	struct problem problem = { 0 };

	ck_assert_int_eq(problem_set(&problem, EIO, "a\nb\033[2J\177/\303\274 \302\2332J\377", "cannot read"), EIO);
	expect_text(&problem, "a\\012b\\033[2J\\177/\303\274 \\302\\2332J\\377: cannot read: Input/output error");
	problem_clear(&problem);
}
END_TEST

START_TEST(a_reason_ends_without_its_line)
{
	struct problem problem = { 0 };

	ck_assert_int_eq(problem_set_reason(&problem, EBADMSG, "x", "cannot use", "a\nb\n"), EBADMSG);
	expect_text(&problem, "x: cannot use: a\\012b");
	problem_clear(&problem);
	ck_assert_int_eq(problem_set_reason(&problem, EBADMSG, "x", "cannot use", "\n"), EBADMSG);
	expect_text(&problem, "x: cannot use");
	problem_clear(&problem);
}
END_TEST

START_TEST(moving_frees_and_empties)
{
	struct problem from = { 0 }, to = { 0 };

	ck_assert_int_eq(problem_set(&from, ENOSPC, "/new", "cannot write"), ENOSPC);
	ck_assert_int_eq(problem_set_reason(&to, EIO, "/old", "cannot read", "old"), EIO);
	problem_move(&to, &from);
	expect_text(&to, "/new: cannot write: No space left on device");
	ck_assert_int_eq(from.error, 0);
	ck_assert_ptr_null(from.path);
	problem_move(&to, &to);
	ck_assert_int_eq(to.error, ENOSPC);
	problem_clear(&to);
}
END_TEST

START_TEST(nobody_need_listen)
{
	ck_assert_int_eq(problem_set(NULL, EIO, "/a", "cannot read"), EIO);
	ck_assert_int_eq(problem_set_reason(NULL, EIO, "/a", "cannot read", "no reason"), EIO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("problem");
	TCase *tests = tcase_create("problem");

	tcase_add_test(tests, the_first_problem_stays);
	tcase_add_test(tests, a_reason_replaces_the_error_message);
	tcase_add_test(tests, more_follows_the_reason);
	tcase_add_test(tests, absent_parts_leave_no_punctuation);
	tcase_add_test(tests, a_name_is_no_second_line);
	tcase_add_test(tests, a_reason_ends_without_its_line);
	tcase_add_test(tests, moving_frees_and_empties);
	tcase_add_test(tests, nobody_need_listen);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
