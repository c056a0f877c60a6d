/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written out of trees that no source would make, and what of any tree. */
#include "extract/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "extract/pieces.h"
#include "host_tree.h"
#include "text_tree.h"
#include "unit.h"

static errcode_t write_out(const struct tree *tree, enum extract_form form, const char *output, unsigned int threads,
                           struct extract_report *report, struct problem *problem)
{
	const struct extract_options options = { .form = form, .output = output };
	struct pool *pool;

	ck_assert_int_eq(pool_create(threads, &pool), 0);
	errcode_t error = extract(tree, &options, pool, report, problem);

	pool_destroy(pool);
	return error;
}

/* The same length, so that all else stays as the text says. */
static void rename_node(struct tree *tree, const char *path, const char *name)
{
	uint32_t node = host_tree_find(tree, path);

	memcpy((char *)(uintptr_t)tree->nodes[node].name, name, tree->nodes[node].name_bytes);
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

START_TEST(names_that_lead_elsewhere)
{
	static const struct {
		const char *name;
		size_t bytes;
		bool is_safe;
	} cases[] = { { "a", 1, true },    { "...", 3, true }, { ".a", 2, true },    { "..a", 3, true },
		      { "a\n", 2, true },  { "", 0, false },   { ".", 1, false },    { "..", 2, false },
		      { "a/b", 3, false }, { "/", 1, false },  { "a\0b", 3, false }, { "../", 3, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_msg(selection_name_is_safe(cases[i].name, cases[i].bytes) == cases[i].is_safe, "%s",
		              cases[i].name);
}
END_TEST

/* ".." and "a/b" as directories, files and links, in each form. */
START_TEST(hostile_names_are_refused)
{
	for (unsigned int form = 0; form < EXTRACT_FORMS; form++) {
		SCOPE_FREE char *place = host_tree_directory();
		SCOPE_FREE char *output = strdup(host_tree_below(place, "below/output"));
		struct extract_report report;
		struct problem problem = { 0 };
		struct tree *tree = text_tree("image", "d0 xx\ne0 xx/evil\nd0 yyy\ne0 yyy/evil\ns0 zz /etc\n"
		                                       "e0 good\nh0 www good\n");

		rename_node(tree, "xx", "..");
		rename_node(tree, "yyy", "a/b");
		rename_node(tree, "zz", "..");
		rename_node(tree, "www", "/ww");
		ck_assert_int_eq(mkdir(host_tree_below(place, "below"), 0755), 0);
		errcode_t error = write_out(tree, form, output, 2, &report, &problem);

		ck_assert_int_eq(error, 0);
		ck_assert_uint_eq(report.left_out.count, 4);
		for (size_t i = 0; i < report.left_out.count; i++) {
			SCOPE_FREE char *text = problem_text(&report.left_out.list[i]);

			ck_assert_msg(strstr(text, "its name could lead out"), "%s", text);
		}
		ck_assert(!is_there(host_tree_below(place, "below/evil")));
		ck_assert(!is_there(host_tree_below(place, "evil")));
		ck_assert(form != EXTRACT_DIRECTORY || is_there(host_tree_below(output, "good")));
		ck_assert(!is_there(host_tree_below(output, "a")));
		extract_report_clear(&report);
		tree_destroy(tree);
	}
}
END_TEST

/* A symlink and a directory of one name: what is in the directory does not go to where the link leads. */
START_TEST(nothing_goes_through_a_symlink)
{
	for (unsigned int threads = 0; threads < 3; threads++) {
		SCOPE_FREE char *place = host_tree_directory();
		SCOPE_FREE char *output = strdup(host_tree_below(place, "output"));
		SCOPE_FREE char *text;
		struct extract_report report;
		struct problem problem = { 0 };
		struct tree *tree;

		ck_assert_int_eq(mkdir(host_tree_below(place, "outside"), 0755), 0);
		ck_assert(asprintf(&text, "d0 one\ne0 one/evil\ns0 two %s\n", host_tree_below(place, "outside")) > 0);
		tree = text_tree("image", text);
		rename_node(tree, "two", "one");
		ck_assert_int_eq(write_out(tree, EXTRACT_DIRECTORY, output, threads, &report, &problem), 0);
		ck_assert_uint_eq(report.left_out.count, 1);
		ck_assert_int_eq(report.left_out.list[0].error, EEXIST);
		ck_assert(!is_there(host_tree_below(place, "outside/evil")));
		ck_assert(is_there(host_tree_below(output, "one/evil")));
		extract_report_clear(&report);
		tree_destroy(tree);
	}
}
END_TEST

/* One that was there before, with --force: it gives way, as does one in the place of a file. */
START_TEST(links_that_are_there_are_not_followed)
{
	SCOPE_FREE char *place = host_tree_directory();
	SCOPE_FREE char *output = strdup(host_tree_below(place, "output"));
	SCOPE_FREE char *outside = strdup(host_tree_below(place, "outside"));
	struct tree *tree = text_tree("image", "d0 one\ne0 one/evil\ne0 file\nd0 kept\n");
	struct extract_report report;
	struct problem problem = { 0 };
	struct pool *pool;
	struct extract_options options = { .output = output };

	ck_assert_int_eq(mkdir(outside, 0755) | mkdir(output, 0755), 0);
	ck_assert_int_eq(mkdir(host_tree_below(output, "kept"), 0700), 0);
	host_tree_write(host_tree_below(output, "kept/mine"), "mine");
	host_tree_write(host_tree_below(outside, "file"), "mine");
	ck_assert_int_eq(symlink(outside, host_tree_below(output, "one")), 0);
	ck_assert_int_eq(symlink(host_tree_below(outside, "file"), host_tree_below(output, "file")), 0);
	ck_assert_int_eq(pool_create(2, &pool), 0);
	ck_assert_int_eq(extract(tree, &options, pool, &report, &problem), ENOTEMPTY);
	ck_assert_str_eq(problem.path, output);
	problem_clear(&problem);
	extract_report_clear(&report);
	options.has_force = true;
	ck_assert_int_eq(extract(tree, &options, pool, &report, &problem), 0);
	ck_assert_uint_eq(report.left_out.count, 0);
	ck_assert(!is_there(host_tree_below(outside, "evil")));
	ck_assert(is_there(host_tree_below(output, "one/evil")));
	ck_assert(is_there(host_tree_below(output, "kept/mine")));

	struct stat status;

	ck_assert_int_eq(lstat(host_tree_below(output, "file"), &status), 0);
	ck_assert(S_ISREG(status.st_mode) && status.st_size == 0);
	ck_assert_int_eq(lstat(host_tree_below(outside, "file"), &status), 0);
	ck_assert_int_eq(status.st_size, 4);
	extract_report_clear(&report);
	pool_destroy(pool);
	tree_destroy(tree);
}
END_TEST

/* A random tree, whatever the threads: the same archive, and the directory is what was read. */
START_TEST(threads_change_nothing)
{
	SCOPE_FREE char *place = host_tree_directory();
	SCOPE_FREE char *source = strdup(host_tree_below(place, "source"));
	struct random random = { .state = 7 };
	char *directories[2];

	ck_assert_int_eq(mkdir(source, 0755), 0);
	host_tree_make(&random, source, 700);
	struct tree *tree = host_tree_scan(source, NULL, 2);

	for (unsigned int threads = 0; threads < 6; threads += 5) {
		static const enum extract_form forms[] = { EXTRACT_DIRECTORY, EXTRACT_TAR, EXTRACT_MTREE,
			                                   EXTRACT_LIST_JSON };
		static const char *const names[] = { "directory", "tar", "mtree", "list" };

		for (size_t i = 0; i < 4; i++) {
			struct extract_report report;
			struct problem problem = { 0 };
			char name[32];

			snprintf(name, sizeof(name), "%s%u", names[i], threads);
			ck_assert_int_eq(
				write_out(tree, forms[i], host_tree_below(place, name), threads, &report, &problem), 0);
			ck_assert_uint_eq(report.left_out.count, 0);
			extract_report_clear(&report);
		}
		directories[threads > 0] = strdup(host_tree_below(place, threads ? "directory5" : "directory0"));
	}
	for (size_t i = 0; i < 2; i++) {
		struct tree *made = host_tree_scan(directories[i], NULL, 2);

		host_tree_expect_equal(tree, made);
		tree_destroy(made);
		free(directories[i]);
	}
	static const char *const pairs[][2] = { { "tar0", "tar5" }, { "mtree0", "mtree5" }, { "list0", "list5" } };

	for (size_t i = 0; i < 3; i++) {
		SCOPE_FREE char *command;

		ck_assert(asprintf(&command, "cmp %s %s", host_tree_below(place, pairs[i][0]),
		                   host_tree_below(place, pairs[i][1])) > 0);
		ck_assert_int_eq(system(command), 0);
	}
	tree_destroy(tree);
}
END_TEST

/* Pieces are all of the selected bytes, each once and in order, whatever holes a file has. */
START_TEST(pieces_cover_everything)
{
	const uint64_t mib = 1 << 20;
	struct tree *tree = text_tree("image", "f5 a\nf0 b\nf7 c\n");
	struct tree_node *node = &tree->nodes[host_tree_find(tree, "b")];
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map) + 3 * sizeof(map->segments[0]));
	struct selection selection;
	struct piece_cursor cursor;
	struct piece piece;
	uint64_t parts = 0, data_bytes = 0, at = 0, number = 0;

	*map = (struct tree_data_map){ .count = 3 };
	map->segments[0] = (struct tree_segment){ mib / 2, mib };
	map->segments[1] = (struct tree_segment){ 5 * mib, 1 };
	map->segments[2] = (struct tree_segment){ 1000 * mib, 3 * mib };
	node->is_sparse = true;
	node->size_bytes = 5000 * mib + 1;
	node->data_map = map;
	ck_assert_int_eq(selection_make(&selection, tree, NULL, 0, NULL), 0);
	ck_assert_uint_eq(selection.data_bytes, 5 + 7 + 4 * mib + 1);
	piece_cursor_start(&cursor, &selection, PIECES_OF_ALL);
	while (piece_cursor_next(&cursor, &piece)) {
		struct piece_range range;
		uint32_t segment = piece.segment;

		ck_assert_uint_eq(piece.number, number++);
		if (!piece.is_part) {
			ck_assert_uint_eq(piece.segment, 0);
			continue;
		}
		ck_assert_uint_eq(piece.start, at);
		ck_assert_uint_gt(piece.stop, piece.start);
		ck_assert_uint_eq(piece.is_file_first, piece.start == 0);
		uint64_t own = 0;

		for (at = piece.start; piece_range_next(node, &at, piece.stop, &segment, &range);)
			own += range.is_hole ? 0 : range.length;
		ck_assert_uint_le(own, PIECE_DATA_BYTES);
		data_bytes += own;
		at = piece.stop;
		ck_assert_uint_eq(piece.is_file_last, at == node->size_bytes);
		parts++;
	}
	ck_assert_uint_eq(at, node->size_bytes);
	ck_assert_uint_eq(data_bytes, 4 * mib + 1);
	ck_assert_uint_eq(parts, 5);
	/* Nodes before it, the parts, nodes after it. */
	ck_assert_uint_eq(number, 7);
	selection_free(&selection);
	tree_destroy(tree);
}
END_TEST

/* A file that cannot be read is left out with all its names, and told once; the others are there. */
START_TEST(what_cannot_be_read_is_left_out)
{
	for (unsigned int form = 0; form <= EXTRACT_MTREE; form++) {
		SCOPE_FREE char *place = host_tree_directory();
		SCOPE_FREE char *source = strdup(host_tree_below(place, "source"));
		SCOPE_FREE char *output = strdup(host_tree_below(place, "output"));
		SCOPE_FREE char *list = NULL;
		struct extract_report report;
		struct problem problem = { 0 };

		ck_assert_int_eq(mkdir(source, 0755), 0);
		host_tree_write(host_tree_below(source, "gone"), "gone");
		ck_assert_int_eq(link(host_tree_below(source, "gone"), host_tree_below(source, "other")), 0);
		host_tree_write(host_tree_below(source, "there"), "there");
		struct tree *tree = host_tree_scan(source, NULL, 0);

		ck_assert_int_eq(unlink(host_tree_below(source, "gone")), 0);
		ck_assert_int_eq(unlink(host_tree_below(source, "other")), 0);
		ck_assert_int_eq(write_out(tree, form, output, 2, &report, &problem), 0);
		ck_assert_uint_eq(report.left_out.count, 1);
		ck_assert_str_eq(report.left_out.list[0].path, host_tree_below(source, "gone"));
		ck_assert_str_eq(report.left_out.list[0].reason, "No such file or directory; it is left out");
		if (form == EXTRACT_DIRECTORY) {
			ck_assert(is_there(host_tree_below(output, "there")));
			ck_assert(!is_there(host_tree_below(output, "gone")));
			ck_assert(!is_there(host_tree_below(output, "other")));
		} else {
			ck_assert(asprintf(&list, "grep -a -c -E '(gone|other)' %s >/dev/null", output) > 0);
			ck_assert_int_ne(system(list), 0);
			free(list);
			ck_assert(asprintf(&list, "grep -a -q there %s", output) > 0);
			ck_assert_int_eq(system(list), 0);
		}
		extract_report_clear(&report);
		tree_destroy(tree);
	}
}
END_TEST

static void make_hole(struct tree *tree, const char *path, uint64_t bytes)
{
	struct tree_node *node = &tree->nodes[host_tree_find(tree, path)];
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map));

	ck_assert_ptr_nonnull(map);
	*map = (struct tree_data_map){ .count = 0 };
	node->is_sparse = true;
	node->size_bytes = bytes;
	node->data_map = map;
}

/* A digest of zeros takes as long as one of data. Once the time is over, a short hole is left out, too. */
START_TEST(holes_are_digested_for_a_limited_time)
{
	SCOPE_FREE char *place = host_tree_directory();
	struct source_counts counts = { .limits.unpacked_bytes = UINT64_C(8) << 40 };
	const struct extract_options options = {
		.form = EXTRACT_MTREE,
		.output = host_tree_below(place, "list"),
		.counts = &counts,
		.hole_seconds = 1,
	};
	static const char late[] = "those of holes take more than 1 seconds (--limit=unpacked=SIZE allows more); it is "
				   "left out";
	static const char large[] = "those of holes take more than 8.0 TiB (--limit=unpacked=SIZE allows more); it is "
				    "left out";
	struct tree *tree = text_tree("image", "f0 b\nf0 c\nf0 d\n");
	struct extract_report report;
	struct problem problem = { 0 };
	struct pool *pool;

	make_hole(tree, "b", UINT64_C(1) << 40);
	make_hole(tree, "c", UINT64_C(15) << 40);
	make_hole(tree, "d", UINT64_C(1) << 20);
	ck_assert_int_eq(pool_create(0, &pool), 0);
	ck_assert_int_eq(extract(tree, &options, pool, &report, &problem), 0);
	pool_destroy(pool);
	ck_assert_uint_eq(report.left_out.count, 3);
	for (unsigned int n = 0; n < 3; n++)
		ck_assert_str_eq(report.left_out.list[n].reason, n == 1 ? large : late);
	ck_assert_str_eq(report.left_out.list[0].path, "image/b");
	ck_assert_str_eq(report.left_out.list[0].action, "cannot take its digest");
	extract_report_clear(&report);
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("extract");
	TCase *tests = tcase_create("extract");

	host_tree_begin();
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, names_that_lead_elsewhere);
	tcase_add_test(tests, hostile_names_are_refused);
	tcase_add_test(tests, nothing_goes_through_a_symlink);
	tcase_add_test(tests, links_that_are_there_are_not_followed);
	tcase_add_test(tests, threads_change_nothing);
	tcase_add_test(tests, pieces_cover_everything);
	tcase_add_test(tests, what_cannot_be_read_is_left_out);
	tcase_add_test(tests, holes_are_digested_for_a_limited_time);
	suite_add_tcase(suite, tests);
	int status = run_suite(suite);

	host_tree_end();
	return status;
}
