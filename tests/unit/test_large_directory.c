/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large directories are examined while they are listed. Here each looks large, and its names come in small buffers, so
 * that hundreds of names are enough.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "host_tree.h"
#include "support/run/interrupt.h"
#include "support/seconds.h"
#include "unit.h"

static const unsigned int thread_counts[] = { 0, 1, 2, 3, 7, 65, 200 };

#define THREAD_COUNTS (sizeof(thread_counts) / sizeof(thread_counts[0]))
#define BUFFER_BYTES 16384u

/* The host's behaviour in the present test. */
static struct host {
	bool gives_twice;          /* each name */
	bool ends_after_examining; /* no listing of directory "large" ends before one of its entries has been examined
	                            */
	const char *failing;       /* names that end so cannot be examined */
	unsigned int until_signal; /* so many entries are examined before SIGTERM; 0: no signal comes */
	unsigned int examined;     /* atomic */
} host;

/* The scan calls these and not those of libc. */
ssize_t getdents64(int descriptor, void *buffer, size_t bytes)
{
	ssize_t got = syscall(SYS_getdents64, descriptor, buffer, bytes < BUFFER_BYTES ? bytes : BUFFER_BYTES);

	if (got > 0 && host.gives_twice) {
		ck_assert_uint_ge(bytes, 2 * (size_t)got);
		memcpy((char *)buffer + got, buffer, (size_t)got);
		return 2 * got;
	}
	double begin = seconds_of(CLOCK_MONOTONIC);

	/* The two entries of the root are one level, the many of "large" another. */
	while (got == 0 && host.ends_after_examining && __atomic_load_n(&host.examined, __ATOMIC_RELAXED) == 1)
		ck_assert_msg(seconds_of(CLOCK_MONOTONIC) - begin < 60, "nobody examines what has been listed");
	return got;
}

static bool ends_with(const char *name, const char *end)
{
	size_t bytes = strlen(name), end_bytes = strlen(end);

	return bytes >= end_bytes && !strcmp(name + bytes - end_bytes, end);
}

static void wait_for_interrupt(void)
{
	double begin = seconds_of(CLOCK_MONOTONIC);

	while (!interrupt_pending()) {
		ck_assert_msg(seconds_of(CLOCK_MONOTONIC) - begin < 60, "the signal does not arrive");
		usleep(100);
	}
}

int fstatat(int directory, const char *restrict name, struct stat *restrict status, int flags)
{
	ck_assert_int_eq(flags, AT_SYMLINK_NOFOLLOW);
	if (host.failing && ends_with(name, host.failing)) {
		errno = EIO;
		return -1;
	}
	char path[300];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name);
	if (lstat(path, status))
		return -1;
	if (S_ISDIR(status->st_mode))
		status->st_size = 1 << 20;
	unsigned int examined = __atomic_add_fetch(&host.examined, 1, __ATOMIC_RELAXED);

	if (examined == host.until_signal)
		kill(getpid(), SIGTERM); /* the pool's threads block it */
	/* Else the main thread might not run, on a busy machine, until the others have examined everything. */
	if (host.until_signal && examined >= host.until_signal)
		wait_for_interrupt();
	return 0;
}

/* `count` names in an order that is not theirs: files, each ninth a directory, each seventh a further name of one file.
 */
static void fill(struct random *random, const char *path, const char *name, unsigned int count)
{
	char directory[300], entry[600];
	const char *file = NULL;

	snprintf(directory, sizeof(directory), "%s/%s", path, name);
	ck_assert_int_eq(mkdir(directory, 0755), 0);
	SCOPE_FREE char *first = NULL;

	for (unsigned int i = 0; i < count; i++) {
		snprintf(entry, sizeof(entry), "%s/%08x%u", directory, (unsigned int)random_below(random, UINT32_MAX),
		         i);
		if (i % 9 == 0) {
			ck_assert_int_eq(mkdir(entry, 0700), 0);
		} else if (i % 7 == 0 && file) {
			ck_assert_int_eq(link(file, entry), 0);
		} else {
			host_tree_write(entry, "x");
			if (i % 5 == 0)
				(void)setxattr(entry, "user.number", &i, 1, 0);
			if (!file)
				file = first = strdup(entry);
		}
	}
}

START_TEST(it_is_examined_while_it_is_listed)
{
	struct random random = random_start("it_is_examined_while_it_is_listed");
	SCOPE_FREE char *path = host_tree_directory();

	fill(&random, path, "large", 1000);
	host.ends_after_examining = true;
	for (unsigned int threads = 2; threads < 5; threads++) {
		host.examined = 0;
		struct tree *tree = host_tree_scan(path, NULL, threads);

		ck_assert_uint_eq(tree->node_count, 1002);
		tree_destroy(tree);
	}
}
END_TEST

START_TEST(any_number_of_threads_reads_the_same)
{
	struct random random = random_start("any_number_of_threads_reads_the_same");
	SCOPE_FREE char *path = host_tree_directory();
	char name[20];

	for (int i = 0; i < 12; i++) {
		sprintf(name, "%d", i);
		fill(&random, path, name, i % 3 ? random_below(&random, 1500) : random_below(&random, 5));
	}
	fill(&random, host_tree_below(path, "3"), "below", 700);
	struct tree *serial = host_tree_scan(path, NULL, 0);

	host_tree_expect_true(serial);
	for (size_t i = 1; i < 3 * THREAD_COUNTS; i++) {
		struct tree *parallel = host_tree_scan(path, NULL, thread_counts[i % THREAD_COUNTS]);

		host_tree_expect_equal(serial, parallel);
		tree_destroy(parallel);
	}
	tree_destroy(serial);
}
END_TEST

START_TEST(a_name_given_twice_is_one_entry)
{
	struct random random = random_start("a_name_given_twice_is_one_entry");
	SCOPE_FREE char *path = host_tree_directory();

	fill(&random, path, "a", 900);
	fill(&random, path, "b", 3);
	fill(&random, path, "c", 500);
	struct tree *once = host_tree_scan(path, NULL, 0);

	host.gives_twice = true;
	for (size_t i = 0; i < 3 * THREAD_COUNTS; i++) {
		struct tree *twice = host_tree_scan(path, NULL, thread_counts[i % THREAD_COUNTS]);

		host_tree_expect_equal(once, twice);
		tree_destroy(twice);
	}
	tree_destroy(once);
}
END_TEST

/* That a listing holds in any order. The caller frees it. */
static char *first_name(const char *path, const char *end)
{
	DIR *directory = opendir(path);
	char *first = NULL;

	ck_assert_ptr_nonnull(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (!ends_with(entry->d_name, end) || (first && strcmp(first, entry->d_name) < 0))
			continue;
		free(first);
		first = strdup(entry->d_name);
	}
	closedir(directory);
	ck_assert_ptr_nonnull(first);
	return first;
}

/* Names with this ending fail now; the first of them in a directory is reported, with any number of threads. */
static void expect_first_failure(const char *path, const char *directory, const char *end)
{
	SCOPE_FREE char *first = first_name(host_tree_below(path, directory), end);
	char expected[600];

	snprintf(expected, sizeof(expected), "%s/%s/%s", path, directory, first);
	host.failing = end;
	for (size_t i = 0; i < 3 * THREAD_COUNTS; i++)
		host_tree_expect_failure(path, thread_counts[i % THREAD_COUNTS], EIO, expected, NULL);
}

START_TEST(the_first_that_fails_is_named)
{
	struct random random = random_start("the_first_that_fails_is_named");
	SCOPE_FREE char *path = host_tree_directory();

	fill(&random, path, "b", 1000);
	fill(&random, path, "c", 600);
	expect_first_failure(path, "b", "7");
}
END_TEST

/* "a" is larger than what is examined as it is listed, but all of it fits one buffer. */
START_TEST(one_of_a_smaller_directory_may_be_the_first)
{
	struct random random = random_start("one_of_a_smaller_directory_may_be_the_first");
	SCOPE_FREE char *path = host_tree_directory();

	fill(&random, path, "a", 200);
	fill(&random, path, "b", 1500);
	fill(&random, path, "c", 200);
	expect_first_failure(path, "a", "7");
	ck_assert_int_eq(rename(host_tree_below(path, "a"), host_tree_below(path, "d")), 0);
	expect_first_failure(path, "b", "37");
}
END_TEST

START_TEST(an_interrupt_stops_it)
{
	struct random random = random_start("an_interrupt_stops_it");
	SCOPE_FREE char *path = host_tree_directory();

	fill(&random, path, "large", 3000);
	interrupt_install();
	host.until_signal = 700;
	host_tree_expect_failure(path, thread_counts[_i], EINTR, NULL, NULL);
	/* Among many threads the main one, which gets the signal, may run when all are done. */
	if (thread_counts[_i] < 65)
		ck_assert_uint_lt(host.examined, 3000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("large_directory");
	TCase *tests = tcase_create("large_directory");

	host_tree_begin();
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, it_is_examined_while_it_is_listed);
	tcase_add_test(tests, any_number_of_threads_reads_the_same);
	tcase_add_test(tests, a_name_given_twice_is_one_entry);
	tcase_add_test(tests, the_first_that_fails_is_named);
	tcase_add_test(tests, one_of_a_smaller_directory_may_be_the_first);
	tcase_add_loop_test(tests, an_interrupt_stops_it, 0, THREAD_COUNTS);
	suite_add_tcase(suite, tests);
	int status = run_suite(suite);

	host_tree_end();
	return status;
}
