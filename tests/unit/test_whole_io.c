/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/io/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "unit.h"

static int file_of(const char *text)
{
	int descriptor = memfd_create("whole_io", MFD_CLOEXEC);

	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(whole_write(descriptor, text, strlen(text), 0), 0);
	return descriptor;
}

START_TEST(what_was_written_is_read)
{
	SCOPE_CLOSE int descriptor = file_of("0123456789");
	char bytes[8] = "";

	ck_assert_int_eq(whole_write(descriptor, "abc", 3, 4), 0);
	ck_assert_int_eq(whole_read(descriptor, bytes, 5, 3), 0);
	ck_assert_str_eq(bytes, "3abc7");
	ck_assert_int_eq(whole_read(descriptor, bytes, 0, 100), 0);
	ck_assert_int_eq(whole_write(descriptor, bytes, 0, 100), 0);
	ck_assert_int_eq(lseek(descriptor, 0, SEEK_END), 10);
}
END_TEST

START_TEST(the_end_comes_too_early)
{
	SCOPE_CLOSE int descriptor = file_of("0123456789");
	char bytes[8] = "";

	ck_assert_int_eq(whole_read(descriptor, bytes, 3, 8), ENODATA);
	ck_assert_str_eq(bytes, "89");
	ck_assert_int_eq(whole_read(descriptor, bytes, 1, 10), ENODATA);
}
END_TEST

START_TEST(failures_are_told)
{
	SCOPE_CLOSE int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
	SCOPE_CLOSE int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	int pipes[2];
	char byte = 0;

	ck_assert_int_eq(whole_write(descriptor, &byte, 1, 0), EBADF);
	ck_assert_int_eq(whole_write(full, &byte, 1, 0), ENOSPC);
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	ck_assert_int_eq(whole_read(pipes[0], &byte, 1, 0), ESPIPE);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

/* The first write(2) takes what fits, the second one says why no more does. */
START_TEST(a_part_is_not_all)
{
	SCOPE_CLOSE int descriptor = file_of("0123456789");
	struct rlimit old, limit;
	char bytes[17] = "";

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 16;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(whole_write(descriptor, "abcdefghij", 10, 10), EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	ck_assert_int_eq(whole_read(descriptor, bytes, 16, 0), 0);
	ck_assert_str_eq(bytes, "0123456789abcdef");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("whole_io");
	TCase *tests = tcase_create("whole_io");

	tcase_add_test(tests, what_was_written_is_read);
	tcase_add_test(tests, the_end_comes_too_early);
	tcase_add_test(tests, failures_are_told);
	tcase_add_test(tests, a_part_is_not_all);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
