/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a scan leaves out: by pattern, and unreadable ones. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "host_tree.h"
#include "unit.h"

static const unsigned int thread_counts[] = { 0, 1, 3, 7, 65, 200 };

#define THREAD_COUNTS (sizeof(thread_counts) / sizeof(thread_counts[0]))

/* Two nodes must name the same file of the host: a node, and one with its path in a larger tree. */
static void expect_same_file(const struct tree *all, uint32_t of_all, const struct tree *tree, uint32_t node)
{
	SCOPE_FREE char *expected = tree_path(all, of_all);
	SCOPE_FREE char *path = tree_path(tree, node);

	ck_assert_str_eq(path, expected);
	ck_assert_uint_eq(tree->nodes[node].mode, all->nodes[of_all].mode);
	if (!S_ISDIR(all->nodes[of_all].mode))
		ck_assert_uint_eq(tree->nodes[node].size_bytes, all->nodes[of_all].size_bytes);
}

START_TEST(a_scan_without_files_is_one_with_them_less_those)
{
	static const char *const patterns[] = { "a*", "!ab*", "b/", "/ba*/**/a", "*_*", "!a?/", "a/**", "!b" };
	struct random random = random_start("a_scan_without_files_is_one_with_them_less_those");
	SCOPE_FREE char *path = host_tree_directory();
	struct exclude *exclude;
	struct scan_options options = { 0 };

	ck_assert_int_eq(exclude_create(&exclude), 0);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		ck_assert_int_eq(exclude_add(exclude, patterns[i], "test", NULL), 0);
	options.exclude = exclude;
	host_tree_make(&random, path, 2000);
	struct tree *all = host_tree_scan(path, NULL, 0);

	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		struct tree *tree = host_tree_scan(path, &options, thread_counts[i]);
		uint32_t next = 1;

		/* Both are in the same order, since leaving out keeps it. */
		for (uint32_t node = 1; node < all->node_count; node++) {
			SCOPE_FREE char *whole = tree_path(all, node);

			if (exclude_covers(exclude, whole + strlen(path) + 1, S_ISDIR(all->nodes[node].mode)))
				continue;
			ck_assert_uint_lt(next, tree->node_count);
			expect_same_file(all, node, tree, next++);
		}
		ck_assert_uint_eq(next, tree->node_count);
		ck_assert_uint_gt(next, 20);
		ck_assert_uint_lt(next, all->node_count - 20);
		tree_destroy(tree);
	}
	tree_destroy(all);
	exclude_destroy(exclude);
}
END_TEST

/* From here on no xattr's value may be read. */
static void forbid_values(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lgetxattr, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fgetxattr, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 464, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* In a large directory, which is examined after the small one beside it. */
START_TEST(unreadable_xattrs_are_counted_and_the_first_is_named)
{
	SCOPE_FREE char *path = host_tree_directory();
	char name[32], expected[200];

	ck_assert_int_eq(mkdir(host_tree_below(path, "a"), 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "b"), 0755), 0);
	host_tree_write(host_tree_below(path, "b/file"), "");
	if (setxattr(host_tree_below(path, "b/file"), "user.b", "", 0, 0))
		return;
	for (int i = 100; i < 500; i++) {
		sprintf(name, "a/%d", i);
		host_tree_write(host_tree_below(path, name), "");
		if (i >= 200)
			ck_assert_int_eq(setxattr(host_tree_below(path, name), "user.a", "", 0, 0), 0);
	}
	forbid_values();
	snprintf(expected, sizeof(expected),
	         "%s/a/200: extended attributes that cannot be read are left out: Permission denied (and 300 more)",
	         path);
	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		struct warnings warnings = { 0 };
		struct scan_options options = { .warnings = &warnings };
		struct tree *tree = host_tree_scan(path, &options, thread_counts[i]);

		ck_assert_uint_eq(tree->xattr_set_count, 1);
		ck_assert_uint_eq(warnings.count, 1);
		SCOPE_FREE char *text = problem_text(&warnings.list[0]);

		ck_assert_str_eq(text, expected);
		warnings_clear(&warnings);
		tree_destroy(tree);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scan_choice");
	TCase *test_case = tcase_create("scan_choice");

	suite_add_tcase(suite, test_case);
	tcase_add_unchecked_fixture(test_case, host_tree_begin, host_tree_end);
	tcase_add_test(test_case, a_scan_without_files_is_one_with_them_less_those);
	tcase_add_test(test_case, unreadable_xattrs_are_counted_and_the_first_is_named);
	return run_suite(suite);
}
