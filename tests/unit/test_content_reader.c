/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "host_tree.h"
#include "unit.h"

static void expect_refused(struct content_reader *reader, uint32_t node, errcode_t expected, const char *path,
                           const char *words)
{
	struct problem problem = { 0 };

	ck_assert_int_eq(content_reader_open(reader, node, &problem), expected);
	ck_assert_int_eq(content_reader_map(reader, 0).descriptor, -1);
	ck_assert_str_eq(problem.path, path);
	SCOPE_FREE char *text = problem_text(&problem);

	ck_assert_msg(strstr(text, words), "%s", text);
	problem_clear(&problem);
}

START_TEST(what_has_been_replaced_is_not_read)
{
	static const char *const names[] = { "fifo", "gone", "socket", "symlink" };
	SCOPE_FREE char *path = host_tree_directory();
	struct content_reader *reader;

	ck_assert_int_eq(mkdir(host_tree_below(path, "directory"), 0755), 0);
	host_tree_write(host_tree_below(path, "directory/file"), "x");
	ck_assert_int_eq(mkdir(host_tree_below(path, "directory/sub"), 0755), 0);
	host_tree_write(host_tree_below(path, "directory/sub/file"), "x");
	for (size_t i = 0; i < 4; i++)
		host_tree_write(host_tree_below(path, names[i]), "x");
	struct tree *tree = host_tree_scan(path, NULL, 0);

	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(unlink(host_tree_below(path, names[i])), 0);
	ck_assert_int_eq(mkfifo(host_tree_below(path, "fifo"), 0600), 0);
	ck_assert_int_eq(mknod(host_tree_below(path, "socket"), S_IFSOCK | 0600, 0), 0);
	ck_assert_int_eq(symlink("/etc/passwd", host_tree_below(path, "symlink")), 0);
	ck_assert_int_eq(rename(host_tree_below(path, "directory"), host_tree_below(path, "moved")), 0);
	ck_assert_int_eq(symlink("moved", host_tree_below(path, "directory")), 0);

	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	expect_refused(reader, 2, EBUSY, host_tree_below(path, "fifo"), "no longer a regular file");
	expect_refused(reader, 3, ENOENT, host_tree_below(path, "gone"), "cannot open");
	expect_refused(reader, 4, EBUSY, host_tree_below(path, "socket"), "no longer a regular file");
	expect_refused(reader, 5, EBUSY, host_tree_below(path, "symlink"), "no longer a regular file");
	expect_refused(reader, 6, ENOTDIR, host_tree_below(path, "directory"), "cannot open directory");
	expect_refused(reader, 8, ELOOP, host_tree_below(path, "directory/sub"), "cannot open directory");
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

START_TEST(what_is_a_directory_now_is_not_read)
{
	SCOPE_FREE char *path = host_tree_directory();
	struct content_reader *reader;
	struct problem problem = { 0 };
	char byte;

	host_tree_write(host_tree_below(path, "empty"), "");
	host_tree_write(host_tree_below(path, "full"), "x");
	struct tree *tree = host_tree_scan(path, NULL, 0);

	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	for (uint32_t node = 1; node <= 2; node++) {
		const char *name = host_tree_below(path, tree->nodes[node].name);

		ck_assert_int_eq(unlink(name), 0);
		ck_assert_int_eq(mkdir(name, 0755), 0);
	}
	expect_refused(reader, 1, EBUSY, host_tree_below(path, "empty"), "no longer a regular file");
	errcode_t error = content_reader_open(reader, 2, &problem);

	if (!error)
		error = content_reader_read(reader, &byte, 1, 0, &problem);
	ck_assert_int_eq(error, EBUSY);
	ck_assert_str_eq(problem.path, host_tree_below(path, "full"));
	problem_clear(&problem);
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

/* The source's access times stay: directories, when listed, and files, when read. */
START_TEST(reading_leaves_no_trace)
{
	static const struct timespec old[2] = { { 1000000, 0 }, { 2000000, 0 } };
	SCOPE_FREE char *path = host_tree_directory();
	struct content_reader *reader;
	struct stat status;

	host_tree_write(host_tree_below(path, "file"), "x");
	ck_assert_int_eq(utimensat(AT_FDCWD, host_tree_below(path, "file"), old, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
	struct tree *tree = host_tree_scan(path, NULL, 0);

	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	host_tree_expect_text(reader, 1, "x");
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_atime, 1000000);
	ck_assert_int_eq(stat(host_tree_below(path, "file"), &status), 0);
	ck_assert_int_eq(status.st_atime, 1000000);
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

/* O_NOATIME is refused to who does not own the file; it is read all the same. */
START_TEST(files_of_others_are_read)
{
	SCOPE_FREE char *path = host_tree_directory();
	struct content_reader *reader;

	host_tree_write(host_tree_below(path, "file"), "x");
	if (!geteuid())
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	struct tree *tree = host_tree_scan(path, NULL, 2);

	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	host_tree_expect_text(reader, 1, "x");
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("content_reader");
	TCase *tests = tcase_create("content_reader");

	host_tree_begin();
	tcase_add_test(tests, what_has_been_replaced_is_not_read);
	tcase_add_test(tests, what_is_a_directory_now_is_not_read);
	tcase_add_test(tests, reading_leaves_no_trace);
	tcase_add_test(tests, files_of_others_are_read);
	suite_add_tcase(suite, tests);
	int status = run_suite(suite);

	host_tree_end();
	return status;
}
