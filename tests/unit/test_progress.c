/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/run/progress.h"

#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "support/run/interrupt.h"
#include "support/run/pool.h"
#include "unit.h"

static void wait_milliseconds(long milliseconds)
{
	struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

START_TEST(no_terminal_no_bar)
{
	SCOPE_FCLOSE FILE *stream = tmpfile();
	struct progress *progress = (struct progress *)1;

	ck_assert_int_eq(progress_start(stream, PROGRESS_AUTO, &progress), 0);
	ck_assert_ptr_null(progress);
	ck_assert_int_eq(progress_start(stream, PROGRESS_NONE, &progress), 0);
	ck_assert_ptr_null(progress);
	progress_stage(progress, "scan", 0, 0);
	progress_add(progress, 1, 1);
	progress_end(progress);
	ck_assert_int_eq(ftell(stream), 0);
}
END_TEST

static errcode_t add_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	(void)worker;
	(void)index;
	(void)problem;
	progress_add(context, 3, 1);
	return 0;
}

START_TEST(json_lines_add_up)
{
	SCOPE_FCLOSE FILE *stream = tmpfile();
	struct progress *progress;
	struct pool *pool;
	char text[65536];

	ck_assert_int_eq(pool_create(3, &pool), 0);
	ck_assert_int_eq(progress_start(stream, PROGRESS_JSON, &progress), 0);
	progress_stage(progress, "scan", 0, 0);
	progress_add(progress, 0, 17);
	progress_stage(progress, "copy", 30000, 10000);
	ck_assert_int_eq(pool_run(pool, 10000, add_task, progress, NULL), 0);
	wait_milliseconds(300);
	progress_end(progress);
	pool_destroy(pool);

	rewind(stream);
	size_t length = fread(text, 1, sizeof(text) - 1, stream);

	text[length] = '\0';
	int lines = 0;
	char *last = NULL, *position = NULL;

	for (char *line = strtok_r(text, "\n", &position); line; line = strtok_r(NULL, "\n", &position)) {
		if (!lines) {
			ck_assert_ptr_eq(strstr(line, "{\"stage\": \"scan\", \"seconds\": "), line);
			ck_assert_ptr_nonnull(
				strstr(line, ", \"bytes\": 0, \"total_bytes\": 0, \"files\": 17, \"total_files\": 0, "
			                     "\"seconds_left\": null, \"waiting\": false}"));
		}
		last = line;
		lines++;
	}
	/* The end of each stage and what was drawn meanwhile. */
	ck_assert_int_ge(lines, 3);
	ck_assert_ptr_nonnull(strstr(last, "\"stage\": \"copy\""));
	ck_assert_ptr_nonnull(
		strstr(last, ", \"bytes\": 30000, \"total_bytes\": 30000, \"files\": 10000, \"total_files\": 10000, "
	                     "\"seconds_left\": 0.00, \"waiting\": false}"));
}
END_TEST

/* Shows a little of a copy on a terminal of so many columns; text is what came out of it. */
static void show_on_terminal(unsigned short columns, enum progress_style style, bool waits, char *text,
                             size_t text_bytes)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	struct progress *progress;
	int terminal, user;

	ck_assert_int_eq(openpty(&terminal, &user, NULL, NULL, &size), 0);
	FILE *stream = fdopen(user, "w");

	ck_assert_int_eq(progress_start(stream, style, &progress), 0);
	ck_assert_ptr_nonnull(progress);
	progress_stage(progress, "copy", UINT64_C(3) << 30, 84000);
	progress_add(progress, UINT64_C(1) << 30, 1234);
	progress_wait(progress, waits);
	wait_milliseconds(300);
	progress_end(progress);
	fclose(stream);

	/* In pieces, until the terminal says that its other end is closed. */
	size_t length = 0;
	ssize_t got;

	while ((got = read(terminal, text + length, text_bytes - 1 - length)) > 0)
		length += (size_t)got;
	ck_assert_int_eq(errno, EIO);
	text[length] = '\0';
	close(terminal);
}

START_TEST(the_bar_fits_the_terminal)
{
	static const unsigned short widths[] = { 0, 2, 40, 80, 132, 1000 };
	char text[65536];

	setenv("TERM", "xterm", 1);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		size_t columns = widths[i] ? widths[i] : 80;

		show_on_terminal(widths[i], i % 2 ? PROGRESS_AUTO : PROGRESS_BAR, false, text, sizeof(text));
		ck_assert_ptr_null(strchr(text, '\n'));
		/* Each drawing: carriage return, the line, and the code that clears the rest. */
		char *at = text;
		int drawings = 0;

		while (*at) {
			ck_assert_int_eq(*at, '\r');
			char *end = strstr(at, "\033[K");

			ck_assert_ptr_nonnull(end);
			ck_assert_uint_lt((size_t)(end - at - 1), columns);
			drawings++;
			at = end + 3;
		}
		ck_assert_int_ge(drawings, 2);
		/* The last thing is an empty line. */
		ck_assert_str_eq(at - 4, "\r\033[K");
		/* What does not fit is left out, never cut; the share is that of the bytes. */
		if (columns >= 40) {
			ck_assert_ptr_nonnull(strstr(text, "\rcopy  33%  "));
			ck_assert_ptr_nonnull(strstr(text, "  1.0 GiB of 3.0 GiB"));
			ck_assert_ptr_null(strstr(text, "files"));
		}
		if (columns >= 80)
			ck_assert_ptr_nonnull(strstr(text, "/s\033[K"));
		if (columns >= 80)
			ck_assert_ptr_nonnull(strstr(text, "\rcopy  33%  [########----------------]  1.0 GiB of"));
	}
}
END_TEST

START_TEST(it_says_that_it_waits)
{
	char text[65536];

	setenv("TERM", "xterm", 1);
	show_on_terminal(60, PROGRESS_BAR, true, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "\rcopy  33%  waiting for another build  1.0 GiB of 3.0 GiB"));
	show_on_terminal(30, PROGRESS_BAR, true, text, sizeof(text));
	ck_assert_ptr_null(strstr(text, "waiting"));
}
END_TEST

START_TEST(names_without_numbers_have_none)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct progress *progress;
	char text[4096];
	int terminal, user;

	ck_assert_int_eq(openpty(&terminal, &user, NULL, NULL, &size), 0);
	FILE *stream = fdopen(user, "w");

	ck_assert_int_eq(progress_start(stream, PROGRESS_BAR, &progress), 0);
	progress_stage(progress, "scan", 0, 0);
	progress_add(progress, 0, 1);
	wait_milliseconds(300);
	progress_stage(progress, "format", 0, 0);
	wait_milliseconds(300);
	progress_end(progress);
	fclose(stream);
	ssize_t got = read(terminal, text, sizeof(text) - 1);

	ck_assert_int_gt(got, 0);
	text[got] = '\0';
	ck_assert_ptr_nonnull(strstr(text, "\rscan  1 file\033[K"));
	ck_assert_ptr_nonnull(strstr(text, "\rformat\033[K"));
	close(terminal);
}
END_TEST

START_TEST(a_dumb_terminal_gets_no_bar)
{
	struct progress *progress = (struct progress *)1;
	int terminal, user;

	setenv("TERM", "dumb", 1);
	ck_assert_int_eq(openpty(&terminal, &user, NULL, NULL, NULL), 0);
	FILE *stream = fdopen(user, "w");

	ck_assert_int_eq(progress_start(stream, PROGRESS_AUTO, &progress), 0);
	ck_assert_ptr_null(progress);
	fclose(stream);
	close(terminal);
}
END_TEST

START_TEST(an_interrupt_is_a_flag)
{
	signal(SIGHUP, SIG_IGN);
	interrupt_install();
	ck_assert(!interrupt_pending());
	raise(SIGHUP);
	ck_assert(!interrupt_pending());
	raise(SIGTERM);
	ck_assert_int_eq(interrupt_pending(), SIGTERM);
	raise(SIGINT);
	ck_assert_int_eq(interrupt_pending(), SIGTERM);

	struct problem problem = { 0 };

	ck_assert_int_eq(problem_set(&problem, EIO, "/other", "cannot read"), EIO);
	interrupt_explain("/image", &problem);
	SCOPE_FREE char *text = problem_text(&problem);
	ck_assert_str_eq(text, "/image: interrupted");
	problem_clear(&problem);
}
END_TEST

START_TEST(a_program_dies_by_its_signal)
{
	interrupt_install();
	interrupt_die();
	raise(SIGTERM);
	interrupt_die();
	/* Unreached: the test is expected to end by SIGTERM. */
}
END_TEST

/* In a bare chroot there is no /dev/pts. */
static bool has_terminals(void)
{
	int terminal, user;

	if (openpty(&terminal, &user, NULL, NULL, NULL))
		return false;
	close(terminal);
	close(user);
	return true;
}

int main(void)
{
	Suite *suite = suite_create("progress");
	TCase *tests = tcase_create("progress");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, no_terminal_no_bar);
	tcase_add_test(tests, json_lines_add_up);
	if (has_terminals()) {
		tcase_add_test(tests, the_bar_fits_the_terminal);
		tcase_add_test(tests, it_says_that_it_waits);
		tcase_add_test(tests, names_without_numbers_have_none);
		tcase_add_test(tests, a_dumb_terminal_gets_no_bar);
	} else {
		skip_part("needs a terminal");
	}
	tcase_add_test(tests, an_interrupt_is_a_flag);
	tcase_add_test_raise_signal(tests, a_program_dies_by_its_signal, SIGTERM);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
