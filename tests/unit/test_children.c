/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/run/children.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "unit.h"

static void (*action(void))(int)
{
	struct sigaction now;

	ck_assert_int_eq(sigaction(SIGCHLD, NULL, &now), 0);
	return now.sa_handler;
}

static pid_t start(int status)
{
	pid_t child = children_fork();

	if (!child)
		_exit(status);
	ck_assert_int_gt(child, 0);
	return child;
}

static void expect_status(pid_t child, int expected)
{
	int status;

	ck_assert_int_eq(children_wait(child, &status), 0);
	ck_assert_int_eq(WEXITSTATUS(status), expected);
}

START_TEST(the_status_is_known_where_the_signal_is_ignored)
{
	int status;

	signal(SIGCHLD, SIG_IGN);
	pid_t first = start(1), second = start(2);

	ck_assert_ptr_eq(action(), SIG_DFL);
	children_expect();
	ck_assert_int_eq(children_wait(-1, &status), 0);
	expect_status(first, 1);
	ck_assert_ptr_eq(action(), SIG_DFL);
	expect_status(second, 2);
	ck_assert_ptr_eq(action(), SIG_IGN);
}
END_TEST

static void take_note(int number)
{
	(void)number;
}

START_TEST(another_action_stays)
{
	signal(SIGCHLD, take_note);
	pid_t child = start(3);
	int status;

	ck_assert_ptr_eq(action(), take_note);
	expect_status(child, 3);
	ck_assert_ptr_eq(action(), take_note);
	child = start(4);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(children_wait(child, &status), ECHILD);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("children");
	TCase *tests = tcase_create("children");

	tcase_add_test(tests, the_status_is_known_where_the_signal_is_ignored);
	tcase_add_test(tests, another_action_stays);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
