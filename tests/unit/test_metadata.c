/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/manifest/metadata.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "host_tree.h"
#include "tree_check.h"
#include "unit.h"

/* etc with passwd; dir with file, another name of it, a symlink and a fifo. */
static struct tree *small_tree(void)
{
	SCOPE_FREE char *path = host_tree_directory();

	ck_assert_int_eq(mkdir(host_tree_below(path, "etc"), 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(path, "dir"), 0755), 0);
	host_tree_write(host_tree_below(path, "etc/passwd"), "root:x:0:0:::\nweb:x:33:33:::\n");
	host_tree_write(host_tree_below(path, "dir/file"), "text");
	ck_assert_int_eq(link(host_tree_below(path, "dir/file"), host_tree_below(path, "z")), 0);
	ck_assert_int_eq(symlink("file", host_tree_below(path, "dir/link")), 0);
	ck_assert_int_eq(mkfifo(host_tree_below(path, "dir/pipe"), 0600), 0);
	return host_tree_scan(path, NULL, 0);
}

static errcode_t apply(struct tree **tree, const char *manifest, struct problem *problem)
{
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "manifest"));
	struct pool *pool;

	host_tree_write(path, manifest);
	ck_assert_int_eq(pool_create(0, &pool), 0);
	errcode_t error = metadata_apply(path, tree, pool, problem);

	pool_destroy(pool);
	return error;
}

static struct tree *applied(const char *manifest)
{
	struct tree *tree = small_tree();
	struct problem problem = { 0 };
	errcode_t error = apply(&tree, manifest, &problem);
	SCOPE_FREE char *text = problem_text(&problem);
	char why[300];

	ck_assert_msg(!error, "%s", text);
	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);
	return tree;
}

static const struct tree_node *node_at(const struct tree *tree, const char *path)
{
	uint32_t node;

	ck_assert_msg(tree_find_path(tree, path, &node), "%s", path);
	return &tree->nodes[tree->nodes[node].link_to];
}

START_TEST(what_is_there_is_changed)
{
	struct tree *before = small_tree();
	struct tree *tree =
		applied(". mode=700 time=5.6\n./dir/file uid=7 gid=8 mode=4755\n./dir/link link=else uid=9\n"
	                "./dir uname=web nochange\n./etc uname=web\n./nothing optional mode=1\n");

	ck_assert_uint_eq(tree->node_count, before->node_count);
	ck_assert_uint_eq(node_at(tree, "")->mode, S_IFDIR | 0700);
	ck_assert_int_eq(node_at(tree, "")->mtime_seconds, 5);
	ck_assert_uint_eq(node_at(tree, "")->mtime_nanoseconds, 6);
	ck_assert_uint_eq(node_at(tree, "z")->mode, S_IFREG | 04755);
	ck_assert_uint_eq(node_at(tree, "z")->uid, 7);
	ck_assert_uint_eq(node_at(tree, "z")->gid, 8);
	ck_assert_str_eq(node_at(tree, "dir/link")->target, "else");
	ck_assert_uint_eq(node_at(tree, "dir/link")->uid, 9);
	ck_assert_uint_eq(node_at(tree, "dir")->uid, node_at(before, "dir")->uid);
	ck_assert_uint_eq(node_at(tree, "etc")->uid, 33);
	ck_assert_uint_eq(node_at(tree, "etc")->gid, node_at(before, "etc")->gid);
	ck_assert_int_eq(node_at(tree, "etc")->mtime_seconds, node_at(before, "etc")->mtime_seconds);
	tree_destroy(before);
	tree_destroy(tree);
}
END_TEST

START_TEST(what_is_missing_is_made)
{
	struct tree *tree =
		applied("./dev/pts/ptmx type=char device=linux,5,2\n./dev type=dir uid=1\n"
	                "./dev/pts type=dir mode=711 gid=5\n./a type=link link=b time=77\n"
	                "./dir/zero type=char device=1,5 mode=666\n./dir/sd type=block device=8,1 uname=web\n"
	                "./dev/log type=socket\n./run type=fifo\n./dir/zero gid=6\n");
	const struct tree_node *node = node_at(tree, "dev/pts/ptmx");

	ck_assert_uint_eq(node->mode, S_IFCHR | 0644);
	ck_assert_uint_eq(node->device.major, 5);
	ck_assert_uint_eq(node->device.minor, 2);
	ck_assert_uint_eq(node->uid | node->gid, 0);
	ck_assert_int_eq(node->mtime_seconds, tree->nodes[TREE_ROOT].mtime_seconds);
	ck_assert_uint_eq(node->mtime_nanoseconds, tree->nodes[TREE_ROOT].mtime_nanoseconds);
	ck_assert_uint_eq(node_at(tree, "dev")->mode, S_IFDIR | 0755);
	ck_assert_uint_eq(node_at(tree, "dev")->uid, 1);
	ck_assert_uint_eq(node_at(tree, "dev")->links, 3);
	ck_assert_uint_eq(node_at(tree, "dev/pts")->mode, S_IFDIR | 0711);
	ck_assert_uint_eq(node_at(tree, "dev/pts")->gid, 5);
	ck_assert_uint_eq(node_at(tree, "a")->mode, S_IFLNK | 0777);
	ck_assert_str_eq(node_at(tree, "a")->target, "b");
	ck_assert_int_eq(node_at(tree, "a")->mtime_seconds, 77);
	ck_assert_uint_eq(node_at(tree, "dir/zero")->mode, S_IFCHR | 0666);
	ck_assert_uint_eq(node_at(tree, "dir/zero")->gid, 6);
	ck_assert_uint_eq(node_at(tree, "dir/sd")->device.major, 8);
	ck_assert_uint_eq(node_at(tree, "dir/sd")->uid, 33);
	ck_assert_uint_eq(node_at(tree, "dev/log")->mode, S_IFSOCK | 0644);
	ck_assert_uint_eq(node_at(tree, "run")->mode, S_IFIFO | 0644);
	/* Those that were there are as they were. */
	ck_assert_uint_eq(node_at(tree, "dir")->mode, S_IFDIR | 0755);
	ck_assert_ptr_eq(node_at(tree, "dir/file"), node_at(tree, "z"));
	ck_assert_uint_eq(node_at(tree, "z")->links, 2);
	tree_destroy(tree);
}
END_TEST

START_TEST(xattrs_are_changed_and_shared)
{
	struct tree *tree = applied("./z xattr.user.b=QQ== xattr.user.a=\n./dir/pipe xattr.user.a= xattr.user.b=QQ==\n"
	                            "./new type=dir xattr.user.b=QQ==\n./dir xattr.user.b=QUJD xattr.user.b=QQ==\n");
	const struct tree_xattr_set *set = &tree->xattr_sets[node_at(tree, "z")->xattrs];

	ck_assert_uint_eq(node_at(tree, "z")->xattrs, node_at(tree, "dir/pipe")->xattrs);
	ck_assert_uint_eq(node_at(tree, "new")->xattrs, node_at(tree, "dir")->xattrs);
	ck_assert_uint_eq(tree->xattr_set_count, 3);
	ck_assert_uint_eq(set->count, 2);
	ck_assert_str_eq(set->list[1].name, "user.b");
	ck_assert_mem_eq(set->list[1].value, "A", 1);
	tree_destroy(tree);
}
END_TEST

static void refuses(const char *manifest, const char *expected)
{
	struct tree *tree = small_tree();
	struct problem problem = { 0 };
	errcode_t error = apply(&tree, manifest, &problem);
	SCOPE_FREE char *text = problem_text(&problem);

	ck_assert_int_ne(error, 0);
	const char *from = strstr(text, "manifest:");

	ck_assert_msg(from && !strcmp(from, expected), "%s, should be %s", text, expected);
	problem_clear(&problem);
	tree_destroy(tree);
}

START_TEST(what_is_wrong_is_named)
{
	refuses("./dir\n./no mode=1", "manifest:2: cannot apply metadata: \"no\" is not in the source");
	refuses("./no type=file", "manifest:1: cannot apply metadata: \"no\" is not in the source");
	refuses("./y mode=1\n./x mode=1", "manifest:1: cannot apply metadata: \"y\" is not in the source");
	refuses("./no/a type=dir\n", "manifest:1: cannot apply metadata: \"no/a\" is in a directory that neither the "
	                             "source nor the manifest has");
	refuses("./no type=fifo\n./no/a type=dir\n", "manifest:2: cannot apply metadata: \"no/a\" is in a directory "
	                                             "that neither the source nor the manifest has");
	refuses("./dir/file/a type=dir\n",
	        "manifest:1: cannot apply metadata: \"dir/file/a\" is in a directory that neither "
	        "the source nor the manifest has");
	refuses("./a type=link", "manifest:1: cannot apply metadata: \"a\" has no link=");
	refuses("./a type=block", "manifest:1: cannot apply metadata: \"a\" has no device=");
	refuses("./dir type=file", "manifest:1: cannot apply metadata: \"dir\" is a directory, not a regular file");
	refuses(". type=link", "manifest:1: cannot apply metadata: \".\" is a directory, not a symbolic link");
	refuses("./a type=fifo\n./a type=socket", "manifest:2: cannot apply metadata: \"a\" is a fifo, not a socket");
	refuses("./dir uname=nobody", "manifest:1: unknown name: \"nobody\" is not a user in the source's etc/passwd: "
	                              "add it there, or give a number");
	refuses("./dir gname=web",
	        "manifest:1: unknown name: \"web\": the source has no file etc/group: give a number");
}
END_TEST

/* Paths of all kinds, against a list of what must be there. */
START_TEST(many_files_are_made)
{
	struct random random = random_start("many_files_are_made");
	char *manifest, paths[500][40];
	size_t bytes;
	FILE *out = open_memstream(&manifest, &bytes);

	fprintf(out, "./d0 type=dir\n");
	strcpy(paths[0], "d0");
	for (int i = 1; i < 500; i++) {
		unsigned int parent = (unsigned int)random_below(&random, i);

		if (paths[parent][0] != 'd' || strlen(paths[parent]) > 30)
			parent = 0;
		bool is_directory = random_below(&random, 2);

		/* A fifo's path begins with f: it is nobody's parent. */
		if (is_directory)
			snprintf(paths[i], sizeof(paths[i]), "%.30s/%d", paths[parent], i);
		else
			snprintf(paths[i], sizeof(paths[i]), "f%d", i);
		fprintf(out, "./%s type=%s uid=%d\n", paths[i], is_directory ? "dir" : "fifo", i);
	}
	fclose(out);
	struct tree *tree = applied(manifest);

	for (unsigned int i = 1; i < 500; i++)
		ck_assert_uint_eq(node_at(tree, paths[i])->uid, i);
	free(manifest);
	tree_destroy(tree);
}
END_TEST

static const char *random_word(struct random *random, const char *const *words, size_t count)
{
	return words[random_below(random, count)];
}

/* What a manifest gives each path last, as far as random_manifest() gives it. */
struct given {
	const char *path;
	int uid; /* -1: not given */
};

static char *random_manifest(struct random *random, struct given *given, size_t count)
{
	static const char *const types[] = {
		"",          "", "type=dir ", "type=dir ", "type=fifo ", "type=char device=1,3 ", "type=link link=x ",
		"type=file "
	};
	static const char *const rest[] = { "",
		                            "",
		                            "mode=700 ",
		                            "optional ",
		                            "nochange ",
		                            "xattr.user.a=QQ== ",
		                            "xattr.user.a=QUJD xattr.user.b= ",
		                            "time=-7.1 " };
	char *manifest;
	size_t bytes;
	FILE *out = open_memstream(&manifest, &bytes);

	for (uint64_t lines = 1 + random_below(random, 8); lines; lines--) {
		struct given *one = &given[random_below(random, count)];
		const char *more = random_word(random, rest, 8);

		fprintf(out, "./%s %s%s", one->path, random_word(random, types, 8), more);
		if (random_below(random, 2) && *more != 'o' && *more != 'n') {
			one->uid = (int)random_below(random, 100);
			fprintf(out, "uid=%d", one->uid);
		}
		fputc('\n', out);
	}
	fclose(out);
	return manifest;
}

/* Refused with a message, or a tree that is right and has what the manifest said. */
START_TEST(any_manifest_is_obeyed_or_refused)
{
	static const char *const paths[] = { "dir",   "dir/file", "z",       "dir/pipe", "new",
		                             "new/a", "new/a/b",  "dir/new", "z/a",      "" };
	struct random random = random_start("any_manifest_is_obeyed_or_refused");
	unsigned int obeyed = 0;

	for (int round = 0; round < 200; round++) {
		struct given given[10];

		for (size_t i = 0; i < 10; i++)
			given[i] = (struct given){ paths[i], -1 };
		SCOPE_FREE char *manifest = random_manifest(&random, given, 10);
		struct tree *tree = small_tree();
		struct problem problem = { 0 };
		errcode_t error = apply(&tree, manifest, &problem);
		char why[300] = "";

		ck_assert_int_eq(error, problem.error);
		problem_clear(&problem);
		ck_assert_msg(error || tree_check(tree, why, sizeof(why)), "%s: %s", manifest, why);
		/* Two names of one file: the later line counts, which is not known here. */
		for (size_t i = 0; !error && i < 10; i++)
			if (given[i].uid >= 0 && strcmp(paths[i], "z") && strcmp(paths[i], "dir/file"))
				ck_assert_msg(node_at(tree, paths[i])->uid == (uint32_t)given[i].uid, "%s: %s",
				              manifest, paths[i]);
		obeyed += !error;
		tree_destroy(tree);
	}
	ck_assert_uint_gt(obeyed, 5);
	ck_assert_uint_lt(obeyed, 190);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metadata");
	TCase *test_case = tcase_create("metadata");

	suite_add_tcase(suite, test_case);
	tcase_add_unchecked_fixture(test_case, host_tree_begin, host_tree_end);
	tcase_add_test(test_case, what_is_there_is_changed);
	tcase_add_test(test_case, what_is_missing_is_made);
	tcase_add_test(test_case, xattrs_are_changed_and_shared);
	tcase_add_test(test_case, what_is_wrong_is_named);
	tcase_add_test(test_case, many_files_are_made);
	tcase_add_test(test_case, any_manifest_is_obeyed_or_refused);
	return run_suite(suite);
}
