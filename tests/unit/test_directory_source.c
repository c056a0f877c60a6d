/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/source_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "host_tree.h"
#include "source/host/host_xattrs.h"
#include "support/run/interrupt.h"
#include "unit.h"

static const unsigned int thread_counts[] = { 0, 1, 2, 3, 7, 65, 200 };

#define THREAD_COUNTS (sizeof(thread_counts) / sizeof(thread_counts[0]))

/* The scan fails for any number of threads with this error, naming this path. */
static void expect_failure(const char *path, errcode_t expected, const char *expected_path, const char *words)
{
	for (size_t i = 0; i < THREAD_COUNTS; i++)
		host_tree_expect_failure(path, thread_counts[i], expected, expected_path, words);
}

/*
 * Takes a file away between listing and examining: the scan calls this fstatat() and not that of libc. The call of the
 * kernel has another name on each machine.
 */
static const char *vanishing;

int fstatat(int directory, const char *restrict name, struct stat *restrict status, int flags)
{
	if (vanishing && !strcmp(name, vanishing))
		unlinkat(directory, name, 0);
	ck_assert_int_eq(flags, AT_SYMLINK_NOFOLLOW);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name);
	return lstat(path, status);
}

START_TEST(any_number_of_threads_reads_the_same)
{
	struct random random = random_start("any_number_of_threads_reads_the_same");
	SCOPE_FREE char *path = host_tree_directory();

	host_tree_make(&random, path, 3000);
	struct tree *serial = host_tree_scan(path, NULL, 0);

	ck_assert_uint_gt(serial->node_count, 2500);
	host_tree_expect_true(serial);
	for (size_t i = 1; i < THREAD_COUNTS; i++) {
		struct tree *parallel = host_tree_scan(path, NULL, thread_counts[i]);

		host_tree_expect_equal(serial, parallel);
		tree_destroy(parallel);
	}
	tree_destroy(serial);
}
END_TEST

START_TEST(a_large_directory_is_shared_out)
{
	SCOPE_FREE char *path = host_tree_directory();
	char name[300];

	for (int i = 0; i < 2000; i++) {
		memset(name, 'x', 200);
		sprintf(name + i % 200, "%d", i);
		if (i % 100)
			host_tree_write(host_tree_below(path, name), "x");
		else
			ck_assert_int_eq(mkdir(host_tree_below(path, name), 0750), 0);
	}
	struct tree *serial = host_tree_scan(path, NULL, 0);
	struct tree *parallel = host_tree_scan(path, NULL, 3);

	ck_assert_uint_eq(serial->node_count, 2001);
	host_tree_expect_true(serial);
	host_tree_expect_equal(serial, parallel);
	tree_destroy(serial);
	tree_destroy(parallel);
}
END_TEST

START_TEST(hard_links_are_joined)
{
	SCOPE_FREE char *path = host_tree_directory();
	SCOPE_FREE char *outside = host_tree_directory();

	ck_assert_int_eq(mkdir(host_tree_below(path, "z"), 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "m"), 0755), 0);
	host_tree_write(host_tree_below(path, "m/two"), "x");
	ck_assert_int_eq(link(host_tree_below(path, "m/two"), host_tree_below(path, "z/one")), 0);
	ck_assert_int_eq(link(host_tree_below(path, "m/two"), host_tree_below(path, "y")), 0);
	ck_assert_int_eq(symlink("target", host_tree_below(path, "m/symlink")), 0);
	ck_assert_int_eq(link(host_tree_below(path, "m/symlink"), host_tree_below(path, "a")), 0);
	host_tree_write(host_tree_below(path, "m/elsewhere too"), "x");
	ck_assert_int_eq(link(host_tree_below(path, "m/elsewhere too"), host_tree_below(outside, "name")), 0);
	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		struct tree *tree = host_tree_scan(path, NULL, thread_counts[i]);
		uint32_t first = host_tree_find(tree, "y");

		ck_assert_uint_eq(tree->nodes[first].link_to, first);
		ck_assert_uint_eq(tree->nodes[first].links, 3);
		ck_assert_uint_eq(tree->nodes[host_tree_find(tree, "m/two")].link_to, first);
		ck_assert_uint_eq(tree->nodes[host_tree_find(tree, "z/one")].link_to, first);
		ck_assert_uint_eq(tree->nodes[host_tree_find(tree, "m/symlink")].link_to, host_tree_find(tree, "a"));
		ck_assert_uint_eq(tree->nodes[host_tree_find(tree, "m/elsewhere too")].links, 1);
		ck_assert_uint_eq(tree->nodes[TREE_ROOT].links, 4);
		tree_destroy(tree);
	}
}
END_TEST

/* Opens the i-th directory below that of the descriptor, which is closed. */
static int descend(int descriptor, const char *name)
{
	mkdirat(descriptor, name, 0755);
	int next = openat(descriptor, name, O_RDONLY | O_DIRECTORY);

	ck_assert_int_ge(next, 0);
	close(descriptor);
	return next;
}

/* Two branches of 600 directories with names of 250 bytes: paths of 150 kB. */
START_TEST(no_path_is_too_long)
{
	enum { DEPTH = 600 };
	SCOPE_FREE char *path = host_tree_directory();
	struct rlimit limit = { 256, 256 };
	char name[251], text[32];

	for (int branch = 0; branch < 2; branch++) {
		int descriptor = open(path, O_RDONLY | O_DIRECTORY);

		for (int i = 0; i < DEPTH; i++) {
			memset(name, 'a' + branch, 250);
			name[250] = '\0';
			descriptor = descend(descriptor, name);
			SCOPE_CLOSE int file = openat(descriptor, "file", O_CREAT | O_WRONLY, 0644);
			int length = sprintf(text, "%d %d", branch, i);

			ck_assert_int_eq(write(file, text, (size_t)length), length);
			/* Also the way around getxattrat() must find it. */
			(void)!fsetxattr(file, "user.depth", text, (size_t)length, 0);
			ck_assert_int_eq(symlinkat("..", descriptor, "symlink"), 0);
		}
		close(descriptor);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	struct tree *serial = host_tree_scan(path, NULL, 0);
	struct tree *parallel = host_tree_scan(path, NULL, 3);

	ck_assert_uint_eq(serial->node_count, 1 + 2 * 3 * DEPTH);
	host_tree_expect_equal(serial, parallel);

	struct content_reader *reader;

	ck_assert_int_eq(content_reader_create(serial, &reader), 0);
	for (uint32_t i = 0; i < serial->node_count; i++) {
		int depth = -1;

		/* First the end of each branch, then upwards: nothing is near what was open. */
		uint32_t node = serial->node_count - 1 - i;

		if (!S_ISREG(serial->nodes[node].mode) || node % 7)
			continue;
		for (uint32_t at = serial->nodes[node].parent; at != TREE_ROOT; at = serial->nodes[at].parent)
			depth++;
		sprintf(text, "%d %d", serial->nodes[serial->nodes[node].parent].name[0] - 'a', depth);
		host_tree_expect_text(reader, node, text);
	}
	content_reader_destroy(reader);
	tree_destroy(serial);
	tree_destroy(parallel);
}
END_TEST

/* 5000 levels, in little memory for stacks. */
START_TEST(depth_does_not_recurse)
{
	SCOPE_FREE char *path = host_tree_directory();
	int descriptor = open(path, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 5000; i++)
		descriptor = descend(descriptor, "d");
	close(descriptor);
	struct tree *tree = host_tree_scan(path, NULL, 2);

	ck_assert_uint_eq(tree->node_count, 5001);
	tree_destroy(tree);
}
END_TEST

START_TEST(holes_are_found)
{
	enum { STEP = 65536 };
	static const struct {
		const char *name;
		const char *steps;   /* D: data, a dot: hole */
		uint64_t tail_bytes; /* of a hole at the end */
		uint32_t segments;
	} files[] = {
		{ "dense", "DDD", 0, 0 },    { "hole", "", 1 << 20, 0 }, { "start", "..DD", 0, 1 },
		{ "end", "D..", 100, 1 },    { "middle", "D.DD", 0, 2 }, { "many", ".D.D..DD.", 5, 3 },
		{ "small hole", "", 10, 0 },
	};
	SCOPE_FREE char *path = host_tree_directory();
	char data[STEP];

	memset(data, 'x', sizeof(data));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		SCOPE_CLOSE int descriptor = open(host_tree_below(path, files[i].name), O_CREAT | O_WRONLY, 0644);
		size_t count = strlen(files[i].steps);

		ck_assert_int_eq(ftruncate(descriptor, (off_t)(count * STEP + files[i].tail_bytes)), 0);
		for (size_t k = 0; k < count; k++)
			if (files[i].steps[k] == 'D')
				ck_assert_int_eq(pwrite(descriptor, data, STEP, (off_t)(k * STEP)), STEP);
		/* Some filesystems know the holes only when they have allocated. */
		ck_assert_int_eq(fsync(descriptor), 0);
	}
	struct tree *tree = host_tree_scan(path, NULL, 2);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct tree_node *node = &tree->nodes[host_tree_find(tree, files[i].name)];
		const char *steps = files[i].steps;

		ck_assert_uint_eq(node->size_bytes, strlen(steps) * STEP + files[i].tail_bytes);
		if (!strchr(steps, '.') && !files[i].tail_bytes) {
			ck_assert(!node->is_sparse);
			continue;
		}
		ck_assert_msg(node->is_sparse, "%s", files[i].name);
		ck_assert_uint_eq(node->data_map->count, files[i].segments);
		for (uint32_t k = 0; k < node->data_map->count; k++) {
			const struct tree_segment *segment = &node->data_map->segments[k];
			size_t start = segment->start_bytes / STEP, end = start + segment->length_bytes / STEP;

			ck_assert_uint_eq(segment->start_bytes % STEP, 0);
			ck_assert_uint_eq(segment->length_bytes % STEP, 0);
			ck_assert_uint_eq(strspn(steps + start, "D"), end - start);
			ck_assert(start == 0 || steps[start - 1] == '.');
		}
	}
	tree_destroy(tree);
}
END_TEST

START_TEST(equal_xattrs_are_one_set)
{
	SCOPE_FREE char *path = host_tree_directory();
	SCOPE_FREE char *large = malloc(XATTR_SIZE_MAX);
	char name[32];

	host_tree_write(host_tree_below(path, "probe"), "");
	if (setxattr(host_tree_below(path, "probe"), "user.probe", "", 0, 0)) {
		printf("# %s has no user xattrs: not tested\n", path);
		return;
	}
	memset(large, 'l', 3000);
	for (int i = 0; i < 40; i++) {
		sprintf(name, "file%02d", i);
		host_tree_write(host_tree_below(path, name), "x");
		if (i % 4 == 0)
			continue;
		const char *file = host_tree_below(path, name);

		ck_assert_int_eq(setxattr(file, "user.kind", i % 4 == 1 ? "one" : "two", 3, 0), 0);
		ck_assert_int_eq(setxattr(file, "user.empty", "", 0, 0), 0);
		if (i % 4 == 3)
			ck_assert_int_eq(setxattr(file, "user.large", large, 3000, 0), 0);
	}
	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		struct tree *tree = host_tree_scan(path, NULL, thread_counts[i]);

		ck_assert_uint_eq(tree->xattr_set_count, 5);
		for (uint32_t node = 0; node < tree->node_count; node++)
			if (sscanf(tree->nodes[node].name, "file%31s", name) == 1)
				ck_assert_uint_eq(tree->nodes[node].xattrs, (unsigned int)atoi(name) % 4);
		ck_assert_uint_eq(tree->nodes[host_tree_find(tree, "probe")].xattrs, 4);
		const struct tree_xattr_set *set = &tree->xattr_sets[3];

		ck_assert_uint_eq(set->count, 3);
		ck_assert_str_eq(set->list[0].name, "user.empty");
		ck_assert_str_eq(set->list[1].name, "user.kind");
		ck_assert_str_eq(set->list[2].name, "user.large");
		ck_assert_uint_eq(set->list[2].value_bytes, 3000);
		ck_assert_mem_eq(set->list[2].value, large, 3000);
		tree_destroy(tree);
	}
}
END_TEST

/* From here on the system calls of newer kernels do not exist. */
static void become_an_old_kernel(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 464, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 465, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	ck_assert_int_eq(syscall(SYS_openat2, AT_FDCWD, ".", NULL, (size_t)0), -1);
	ck_assert_int_eq(errno, ENOSYS);
}

START_TEST(an_old_kernel_reads_the_same)
{
	struct random random = random_start("an_old_kernel_reads_the_same");
	SCOPE_FREE char *path = host_tree_directory();
	char name[251];

	host_tree_make(&random, path, 500);
	/* And some that no path reaches. */
	int descriptor = open(path, O_RDONLY | O_DIRECTORY);

	memset(name, 'n', 250);
	name[250] = '\0';
	for (int i = 0; i < 20; i++) {
		descriptor = descend(descriptor, name);
		(void)!fsetxattr(descriptor, "user.depth", &i, sizeof(i), 0);
	}
	close(descriptor);
	struct tree *tree = host_tree_scan(path, NULL, 0);

	become_an_old_kernel();
	struct tree *old = host_tree_scan(path, NULL, 2);

	host_tree_expect_equal(tree, old);
	tree_destroy(tree);
	tree_destroy(old);
}
END_TEST

/* Somebody moves a directory and puts another in its place while its entries are examined. */
START_TEST(xattrs_are_those_of_the_open_directory)
{
	SCOPE_FREE char *path = host_tree_directory();
	struct host_xattrs xattrs;

	ck_assert_int_eq(mkdir(host_tree_below(path, "a"), 0755), 0);
	host_tree_write(host_tree_below(path, "a/file"), "");
	if (setxattr(host_tree_below(path, "a/file"), "user.who", "mine", 4, 0))
		return;
	SCOPE_CLOSE int directory = open(host_tree_below(path, "a"), O_RDONLY | O_DIRECTORY);
	SCOPE_FREE char *moved = strdup(host_tree_below(path, "b"));

	ck_assert_int_eq(rename(host_tree_below(path, "a"), moved), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "a"), 0755), 0);
	host_tree_write(host_tree_below(path, "a/file"), "");
	ck_assert_int_eq(setxattr(host_tree_below(path, "a/file"), "user.who", "another", 7, 0), 0);
	for (int is_old = 0; is_old < 2; is_old++) {
		if (is_old)
			become_an_old_kernel();
		ck_assert_int_eq(host_xattrs_init(&xattrs), 0);
		ck_assert(!is_old || xattrs.lacks_at_calls);
		ck_assert_int_eq(host_xattrs_read_at(&xattrs, directory, "file"), 0);
		ck_assert_uint_eq(xattrs.count, 1);
		ck_assert_uint_eq(xattrs.list[0].value_bytes, 4);
		ck_assert_mem_eq(xattrs.list[0].value, "mine", 4);
		host_xattrs_destroy(&xattrs);
	}
}
END_TEST

START_TEST(the_image_itself_is_left_out)
{
	SCOPE_FREE char *path = host_tree_directory();
	bool skipped = false;
	struct scan_options options = { .skipped = &skipped };
	struct stat status;
	char name[32];

	/* One in a large directory, which also has a subdirectory behind it, and another name elsewhere. */
	for (int i = 0; i < 300; i++) {
		sprintf(name, "%03d", i);
		host_tree_write(host_tree_below(path, name), name);
	}
	ck_assert_int_eq(mkdir(host_tree_below(path, "sub"), 0755), 0);
	host_tree_write(host_tree_below(path, "sub/file"), "");
	ck_assert_int_eq(link(host_tree_below(path, "123"), host_tree_below(path, "sub/a")), 0);
	struct tree *all = host_tree_scan(path, &options, 2);

	ck_assert_uint_eq(all->node_count, 304);
	ck_assert(!skipped);
	tree_destroy(all);
	ck_assert_int_eq(stat(host_tree_below(path, "123"), &status), 0);
	options.outputs[SCAN_IMAGE] = &status;
	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		skipped = false;
		struct tree *tree = host_tree_scan(path, &options, thread_counts[i]);

		ck_assert(skipped);
		ck_assert_uint_eq(tree->node_count, 302);
		ck_assert_str_eq(tree->nodes[123].name, "122");
		ck_assert_str_eq(tree->nodes[124].name, "124");
		ck_assert_uint_eq(tree->nodes[host_tree_find(tree, "sub")].child_count, 1);
		tree_destroy(tree);
	}
}
END_TEST

START_TEST(what_is_not_a_directory_is_refused)
{
	SCOPE_FREE char *path = host_tree_directory();

	host_tree_write(host_tree_below(path, "file"), "");
	expect_failure(host_tree_below(path, "file"), ENOTDIR, host_tree_below(path, "file"),
	               ": cannot open directory: Not a directory");
	expect_failure(host_tree_below(path, "nothing"), ENOENT, host_tree_below(path, "nothing"),
	               ": cannot open: No such");
}
END_TEST

START_TEST(a_symlink_as_root_is_followed)
{
	SCOPE_FREE char *path = host_tree_directory();

	ck_assert_int_eq(mkdir(host_tree_below(path, "real"), 0751), 0);
	host_tree_write(host_tree_below(path, "real/file"), "content");
	ck_assert_int_eq(symlink("real", host_tree_below(path, "root")), 0);
	struct tree *tree = host_tree_scan(host_tree_below(path, "root"), NULL, 0);
	struct content_reader *reader;

	ck_assert_uint_eq(tree->nodes[TREE_ROOT].mode, S_IFDIR | 0751);
	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	host_tree_expect_text(reader, 1, "content");
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

START_TEST(what_may_not_be_read_is_named)
{
	SCOPE_FREE char *path = host_tree_directory();

	ck_assert_int_eq(mkdir(host_tree_below(path, "a"), 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "a/closed"), 0000), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "b"), 0000), 0);
	if (!geteuid())
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	/* By depth: b comes before a/closed. */
	expect_failure(path, EACCES, host_tree_below(path, "b"), "cannot open directory");
}
END_TEST

START_TEST(what_vanishes_is_named)
{
	SCOPE_FREE char *path = host_tree_directory();
	struct problem problem = { 0 };
	struct tree *tree;
	struct pool *pool;

	ck_assert_int_eq(mkdir(host_tree_below(path, "directory"), 0755), 0);
	for (int i = 0; i < 2; i++) {
		host_tree_write(host_tree_below(path, "directory/here"), "");
		host_tree_write(host_tree_below(path, "directory/gone"), "");
		vanishing = "gone";
		ck_assert_int_eq(pool_create(2 * (unsigned int)i, &pool), 0);
		ck_assert_int_eq(host_tree_try(path, NULL, pool, &tree, &problem), ENOENT);
		pool_destroy(pool);
		ck_assert_str_eq(problem.path, host_tree_below(path, "directory/gone"));
		problem_clear(&problem);
		vanishing = NULL;
	}
}
END_TEST

static bool may_mount(void)
{
	if (!unshare(CLONE_NEWNS) && !mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return true;
	printf("# mounting is not allowed: not tested\n");
	return false;
}

START_TEST(a_loop_of_mounts_is_refused)
{
	SCOPE_FREE char *path = host_tree_directory();

	if (!may_mount())
		return;
	ck_assert_int_eq(mkdir(host_tree_below(path, "a"), 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "a/b"), 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "a/b/c"), 0755), 0);
	ck_assert_int_eq(mount(host_tree_below(path, "a"), host_tree_below(path, "a/b/c"), NULL, MS_BIND, NULL), 0);
	expect_failure(path, ELOOP, host_tree_below(path, "a/b/c"), "a loop of mounts");
}
END_TEST

START_TEST(mounts_are_entered)
{
	SCOPE_FREE char *path = host_tree_directory();

	if (!may_mount())
		return;
	ck_assert_int_eq(mkdir(host_tree_below(path, "a"), 0755), 0);
	ck_assert_int_eq(mount("none", host_tree_below(path, "a"), "tmpfs", 0, "mode=0711"), 0);
	host_tree_write(host_tree_below(path, "a/file"), "mounted");
	struct tree *tree = host_tree_scan(path, NULL, 2);
	struct content_reader *reader;

	ck_assert_uint_eq(tree->node_count, 3);
	ck_assert_uint_eq(tree->nodes[1].mode, S_IFDIR | 0711);
	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	host_tree_expect_text(reader, 2, "mounted");
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

START_TEST(an_interrupt_stops_the_scan)
{
	SCOPE_FREE char *path = host_tree_directory();

	interrupt_install();
	raise(SIGTERM);
	expect_failure(path, EINTR, NULL, "stopped");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, any_number_of_threads_reads_the_same);
	tcase_add_test(tests, a_large_directory_is_shared_out);
	tcase_add_test(tests, hard_links_are_joined);
	tcase_add_test(tests, no_path_is_too_long);
	tcase_add_test(tests, depth_does_not_recurse);
	tcase_add_test(tests, holes_are_found);
	tcase_add_test(tests, equal_xattrs_are_one_set);
	tcase_add_test(tests, an_old_kernel_reads_the_same);
	tcase_add_test(tests, xattrs_are_those_of_the_open_directory);
	tcase_add_test(tests, the_image_itself_is_left_out);
	tcase_add_test(tests, what_is_not_a_directory_is_refused);
	tcase_add_test(tests, a_symlink_as_root_is_followed);
	tcase_add_test(tests, what_may_not_be_read_is_named);
	tcase_add_test(tests, what_vanishes_is_named);
	tcase_add_test(tests, a_loop_of_mounts_is_refused);
	tcase_add_test(tests, mounts_are_entered);
	tcase_add_test(tests, an_interrupt_stops_the_scan);
}

int main(void)
{
	Suite *suite = suite_create("directory_source");
	TCase *tests = tcase_create("directory_source");

	host_tree_begin();
	add_tests(tests);
	suite_add_tcase(suite, tests);
	int status = run_suite(suite);

	host_tree_end();
	return status;
}
