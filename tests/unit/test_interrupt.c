/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first signal is a flag; the second ends the program, whatever it is doing, and leaves nothing. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/run/interrupt.h"

#define FILES 3

static char paths[FILES][16] = { "one", "two", "three" };

/* Somebody else's code, which looks at no flag. */
static void loop_for_ever(int ready)
{
	interrupt_install();
	for (int i = 0; i < FILES; i++) {
		ck_assert_int_ge(open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 0);
		interrupt_removes(paths[i]);
	}
	interrupt_keeps(paths[1]);
	interrupt_keeps("unknown");
	interrupt_keeps(NULL);
	ck_assert_int_eq(write(ready, "r", 1), 1);
	for (bool has_told = false;;) {
		if (!has_told && interrupt_pending())
			has_told = write(ready, "s", 1) == 1;
		/* ThreadSanitizer calls handlers within calls of the C library alone. */
		usleep(100);
	}
}

START_TEST(the_second_signal_ends_a_loop)
{
	static const int signals[][2] = { { SIGTERM, SIGTERM }, { SIGINT, SIGTERM }, { SIGTERM, SIGINT } };
	const int *pair = signals[_i];
	int ready[2], status;
	char byte;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		loop_for_ever(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(kill(child, pair[0]), 0);
	/* It has seen the first one, and goes on. */
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 's');
	ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);
	/* So long after the first one it is another. */
	usleep(150000);
	for (int i = 0; i < FILES; i++)
		ck_assert_int_eq(access(paths[i], F_OK), 0);
	ck_assert_int_eq(kill(child, pair[1]), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), pair[1]);
	ck_assert_int_eq(access(paths[0], F_OK), -1);
	ck_assert_int_eq(access(paths[1], F_OK), 0);
	ck_assert_int_eq(access(paths[2], F_OK), -1);
	ck_assert_int_eq(unlink(paths[1]), 0);
	close(ready[0]);
	close(ready[1]);
}
END_TEST

/* As timeout(1) sends it: to the program, and to its process group. */
START_TEST(a_signal_that_is_sent_twice_is_one)
{
	sigset_t both, old;

	interrupt_install();
	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGINT);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &both, &old), 0);
	ck_assert_int_eq(raise(SIGTERM), 0);
	ck_assert_int_eq(raise(SIGINT), 0);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	ck_assert_int_ne(interrupt_pending(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interrupt");
	TCase *tests = tcase_create("interrupt");

	tcase_add_loop_test(tests, the_second_signal_ends_a_loop, 0, 3);
	tcase_add_test(tests, a_signal_that_is_sent_twice_is_one);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
