/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_tree.h"
#include "tree_check.h"
#include "unit.h"

static const unsigned int thread_counts[] = { 0, 1, 2, 3, 7, 65, 200 };

#define THREAD_COUNTS (sizeof(thread_counts) / sizeof(thread_counts[0]))

static void run(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* e2populate's image of a directory, in TMPDIR; the caller frees its path. */
static char *image_of(const char *directory, const char *options)
{
	SCOPE_FREE char *command = NULL;
	char *image = NULL;

	ck_assert_int_ge(asprintf(&image, "%s.img", directory), 0);
	ck_assert_int_ge(asprintf(&command, "e2populate -q %s -d %s %s", options, directory, image), 0);
	run(command);
	return image;
}

static void change(const char *image, const char *request)
{
	SCOPE_FREE char *command = NULL;

	ck_assert_int_ge(asprintf(&command, "debugfs -w -R '%s' %s >%s.log 2>&1", request, image, image), 0);
	run(command);
}

static errcode_t try_scan(const char *image, unsigned int threads, struct tree **tree, struct problem *problem)
{
	struct source source = source_of(image);
	const struct scan_options options = { 0 };
	struct pool *pool;

	ck_assert_int_eq(pool_create(threads, &pool), 0);
	errcode_t error = source_scan(&source, &options, pool, tree, problem);

	pool_destroy(pool);
	return error;
}

static struct tree *scan(const char *image, unsigned int threads)
{
	struct problem problem = { 0 };
	struct tree *tree;
	char why[300] = "";
	errcode_t error = try_scan(image, threads, &tree, &problem);
	SCOPE_FREE char *text = error ? problem_text(&problem) : NULL;

	ck_assert_msg(!error, "%s", text);
	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);
	return tree;
}

static void expect_same_contents(const struct tree *one, const struct tree *other, uint32_t node)
{
	uint64_t size = one->nodes[node].size_bytes;
	SCOPE_FREE char *first = malloc(size + 1), *second = malloc(size + 1);
	struct content_reader *readers[2];

	ck_assert_int_eq(content_reader_create(one, &readers[0]), 0);
	ck_assert_int_eq(content_reader_create(other, &readers[1]), 0);
	ck_assert_int_eq(content_reader_open(readers[0], node, NULL), 0);
	ck_assert_int_eq(content_reader_open(readers[1], node, NULL), 0);
	ck_assert_int_eq(content_reader_read(readers[0], first, size, 0, NULL), 0);
	ck_assert_int_eq(content_reader_read(readers[1], second, size, 0, NULL), 0);
	ck_assert_mem_eq(first, second, size);
	/* And a part of it, wherever it begins. */
	for (uint64_t from = 0; from < size; from += 1 + size / 7) {
		size_t count = (size - from) / 2 + 1;

		memset(second, 'x', size);
		ck_assert_int_eq(content_reader_read(readers[1], second, count, from, NULL), 0);
		ck_assert_mem_eq(first + from, second, count);
	}
	content_reader_destroy(readers[0]);
	content_reader_destroy(readers[1]);
}

static void expect_same(const struct tree *host, const struct tree *image)
{
	ck_assert_uint_eq(host->node_count, image->node_count);
	for (uint32_t number = 0; number < host->node_count; number++) {
		const struct tree_node *one = &host->nodes[number], *other = &image->nodes[number];

		ck_assert_str_eq(one->name, other->name);
		ck_assert_uint_eq(one->mode, other->mode);
		ck_assert_uint_eq(one->parent, other->parent);
		ck_assert_uint_eq(one->first_child, other->first_child);
		ck_assert_uint_eq(one->child_count, other->child_count);
		ck_assert_uint_eq(one->link_to, other->link_to);
		ck_assert_uint_eq(one->links, other->links);
		ck_assert_uint_eq(one->uid, other->uid);
		ck_assert_uint_eq(one->gid, other->gid);
		ck_assert_int_eq(one->mtime_seconds, other->mtime_seconds);
		ck_assert_uint_eq(one->mtime_nanoseconds, other->mtime_nanoseconds);
		ck_assert_uint_eq(one->xattrs, other->xattrs);
		if (S_ISREG(one->mode) || S_ISLNK(one->mode))
			ck_assert_uint_eq(one->size_bytes, other->size_bytes);
		if (S_ISLNK(one->mode))
			ck_assert_str_eq(one->target, other->target);
		if (S_ISREG(one->mode) && one->link_to == number)
			expect_same_contents(host, image, number);
	}
}

START_TEST(an_image_is_the_tree_that_it_was_made_of)
{
	static const char *const options[] = { "-t ext4", "-t ext2 -b 1024", "-O inline_data,ea_inode",
		                               "-O bigalloc -b 2048" };
	struct random random = random_start("an_image_is_the_tree_that_it_was_made_of");
	SCOPE_FREE char *path = host_tree_directory();

	host_tree_make(&random, path, is_soak() ? 1500 : 700);
	struct tree *host = host_tree_scan(path, NULL, 0);

	for (size_t n = 0; n < sizeof(options) / sizeof(*options); n++) {
		SCOPE_FREE char *image = image_of(path, options[n]);

		for (size_t i = n ? 3 : 0; i < (n ? 4 : THREAD_COUNTS); i++) {
			struct tree *tree = scan(image, thread_counts[i]);

			expect_same(host, tree);
			tree_destroy(tree);
		}
	}
	tree_destroy(host);
}
END_TEST

/* Damage in the first of several files is what is told, whoever reads which. */
START_TEST(any_number_of_threads_finds_the_same_damage)
{
	SCOPE_FREE char *path = host_tree_directory();

	for (unsigned int n = 0; n < 300; n++) {
		char name[32];

		snprintf(name, sizeof(name), "file-%u", n);
		host_tree_write(host_tree_below(path, name), "text");
	}
	SCOPE_FREE char *image = image_of(path, "-t ext4");

	change(image, "clri /file-7");
	change(image, "clri /file-250");
	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		struct problem problem = { 0 };
		struct tree *tree;

		ck_assert_int_eq(try_scan(image, thread_counts[i], &tree, &problem), EUCLEAN);
		ck_assert_ptr_null(tree);
		SCOPE_FREE char *expected = NULL;

		ck_assert_int_ge(asprintf(&expected, "%s: file-250", image), 0);
		ck_assert_str_eq(problem.path, expected);
		problem_clear(&problem);
	}
}
END_TEST

static void write_at(const char *path, const char *text, off_t offset)
{
	SCOPE_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT, 0644);

	ck_assert_int_eq(pwrite(descriptor, text, strlen(text), offset), (ssize_t)strlen(text));
}

/* A file that was being cut off when the power failed has blocks after its end. */
START_TEST(blocks_after_the_end_are_left_out)
{
	SCOPE_FREE char *path = host_tree_directory();

	write_at(host_tree_below(path, "file"), "begin", 0);
	write_at(host_tree_below(path, "file"), "later", 4096);
	write_at(host_tree_below(path, "file"), "latest", 5 * 4096);
	SCOPE_FREE char *image = image_of(path, "-b 4096 --zeros=source");

	change(image, "set_inode_field /file size 4098");
	struct tree *tree = scan(image, 0);
	const struct tree_node *file = &tree->nodes[tree_find(tree, TREE_ROOT, "file", 4)];

	ck_assert_uint_eq(file->size_bytes, 4098);
	ck_assert(!file->is_sparse);
	tree_destroy(tree);
}
END_TEST

/* Data, blocks that were never written, and holes; and where the data are. */
START_TEST(a_map_says_where_contents_are)
{
	SCOPE_FREE char *path = host_tree_directory();
	char bytes[5];

	write_at(host_tree_below(path, "file"), "begin", 0);
	write_at(host_tree_below(path, "file"), "later", 5 * 4096);
	ck_assert_int_eq(truncate(host_tree_below(path, "file"), 100000), 0);
	SCOPE_FREE char *image = image_of(path, "-b 4096");

	change(image, "fallocate /file 3 4");
	struct tree *tree = scan(image, 0);
	uint32_t file = tree_find(tree, TREE_ROOT, "file", 4);
	struct content_reader *reader;

	ck_assert(tree->nodes[file].is_sparse);
	ck_assert_uint_eq(tree->nodes[file].data_map->count, 2);
	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	ck_assert_int_eq(content_reader_open(reader, file, NULL), 0);
	struct content_range range = content_reader_map(reader, 0);

	ck_assert_int_eq(range.kind, CONTENT_DATA);
	ck_assert_uint_eq(range.length_bytes, 4096);
	ck_assert_int_eq(pread(range.descriptor, bytes, sizeof(bytes), (off_t)range.place_bytes), sizeof(bytes));
	ck_assert_mem_eq(bytes, "begin", sizeof(bytes));
	range = content_reader_map(reader, 4096);
	ck_assert_int_eq(range.kind, CONTENT_HOLE);
	ck_assert_uint_eq(range.length_bytes, 2 * 4096);
	range = content_reader_map(reader, 3 * 4096);
	ck_assert_int_eq(range.kind, CONTENT_UNWRITTEN);
	ck_assert_uint_eq(range.length_bytes, 2 * 4096);
	range = content_reader_map(reader, 5 * 4096 + 1);
	ck_assert_int_eq(range.kind, CONTENT_DATA);
	ck_assert_uint_eq(range.length_bytes, 4095);
	ck_assert_int_eq(content_reader_read(reader, bytes, sizeof(bytes), 5 * 4096, NULL), 0);
	ck_assert_mem_eq(bytes, "later", sizeof(bytes));
	range = content_reader_map(reader, 6 * 4096 + 1);
	ck_assert_int_eq(range.kind, CONTENT_HOLE);
	ck_assert_uint_eq(range.length_bytes, 100000 - 6 * 4096 - 1);
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

/* It is read as it was when it was scanned, or not at all. */
START_TEST(an_image_that_changes_is_told)
{
	SCOPE_FREE char *path = host_tree_directory();

	host_tree_write(host_tree_below(path, "file"), "text");
	SCOPE_FREE char *image = image_of(path, "-t ext4");
	struct tree *tree = scan(image, 0);
	struct problem problem = { 0 };

	ck_assert_int_eq(contents_check(tree, &problem), 0);
	ck_assert_int_eq(truncate(image, 64 << 20), 0);
	ck_assert_int_eq(contents_check(tree, &problem), EBUSY);
	ck_assert_str_eq(problem.path, image);
	problem_clear(&problem);
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image_source");
	TCase *tests = tcase_create("all");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, host_tree_begin, host_tree_end);
	tcase_add_test(tests, an_image_is_the_tree_that_it_was_made_of);
	tcase_add_test(tests, any_number_of_threads_finds_the_same_damage);
	tcase_add_test(tests, a_map_says_where_contents_are);
	tcase_add_test(tests, blocks_after_the_end_are_left_out);
	tcase_add_test(tests, an_image_that_changes_is_told);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
