/* SPDX-License-Identifier: GPL-2.0-or-later */
/* content_order_make(), content_runs_find(), hidden_gaps_count(): which contents are moved together, and in which
 * order. */
#include "populate/data/content_runs.h"

#include <string.h>
#include <sys/stat.h>

#include "populate/plan/content_order.h"
#include "populate/plan/hidden_gaps.h"
#include "tree/contents.h"
#include "unit.h"

#define NODES 7u

/* A pack, whose file descriptor is its origin's number; contents are the numbers of blocks in it. */
struct pack_reader {
	const struct tree *tree;
	uint32_t origin, node;
};

static errcode_t create(const struct tree *tree, uint32_t origin, void **state)
{
	struct pack_reader *reader = calloc(1, sizeof(*reader));

	*state = reader;
	ck_assert_ptr_nonnull(reader);
	*reader = (struct pack_reader){ tree, origin, 0 };
	return 0;
}

static errcode_t open_file(void *state, uint32_t node, struct problem *problem)
{
	(void)problem;
	((struct pack_reader *)state)->node = node;
	return 0;
}

static void map(const void *state, uint64_t from_bytes, struct content_range *range)
{
	const struct pack_reader *reader = state;
	const struct tree_node *node = &reader->tree->nodes[reader->node];

	*range = (struct content_range){
		.logical_bytes = from_bytes,
		.length_bytes = node->size_bytes - from_bytes,
		.kind = CONTENT_DATA,
		.descriptor = (int)reader->origin,
		.place_bytes = tree_contents(node) * 4096 + from_bytes,
	};
}

static const struct contents pack_contents = {
	.create = create, .destroy = free, .open = open_file, .map = map, .begins_in_blocks = true, .fills_blocks = true
};

static struct tree_node nodes[NODES];
static struct tree_origin origins[] = { { .contents = &pack_contents, .source = 0 },
	                                { .contents = &pack_contents, .source = 1 } };
static struct tree tree = { .nodes = nodes, .node_count = NODES, .origins = origins, .origin_count = 2 };
static struct scanned scanned = { .tree = &tree };
static struct populate_options options;
static struct placement placements[NODES];
static struct plan plan;

/* A file of so many bytes, whose contents are at a block of its pack, and whose blocks begin there in the image. */
static void put(uint32_t number, uint32_t origin, uint64_t bytes, uint64_t place, uint64_t start)
{
	nodes[number] = (struct tree_node){
		.mode = S_IFREG, .link_to = number, .origin = origin, .size_bytes = bytes, .contents = place
	};
	placements[number] = (struct placement){ .blocks = (uint32_t)((bytes + 4095) / 4096), .start = start };
}

/* The files 1 to 4 are in the lower pack, one after the other but for a block after the second; 5 and 6 in the upper.
 */
static void setup(void)
{
	options = (struct populate_options){ .layout = LAYOUT_LAYERS, .zeros_of_source = true };
	plan = (struct plan){ .options = &options, .source = &scanned, .placements = placements };
	plan.format = (struct ondisk_format){ .block_bytes = 4096, .block_bits = 12, .extents = true };
	nodes[0] = (struct tree_node){ .mode = S_IFDIR };
	placements[0] = (struct placement){ .blocks = 1, .start = 1 };
	put(1, 0, 4096, 10, 100);
	put(2, 1, 1, 20, 106);
	put(3, 0, 5000, 11, 101);
	put(4, 0, 4097, 14, 103);
	put(5, 1, 8192, 21, 107);
	put(6, 0, 100, 16, 105);
	ck_assert_int_eq(content_order_make(&plan), 0);
}

static void teardown(void)
{
	content_order_release(&plan);
}

struct expected_run {
	uint32_t node, files;
	int descriptor;
	uint64_t place, start, blocks;
};

static void expect_runs(size_t count, const struct expected_run *expected, uint64_t files)
{
	struct content_runs runs = { 0 };

	ck_assert_int_eq(content_runs_find(&plan, &runs, NULL), 0);
	ck_assert_uint_eq(runs.count, count);
	ck_assert_uint_eq(runs.files, files);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(runs.list[i].node, expected[i].node);
		ck_assert_uint_eq(runs.list[i].files, expected[i].files);
		ck_assert_int_eq(runs.list[i].descriptor, expected[i].descriptor);
		ck_assert_uint_eq(runs.list[i].from_bytes, expected[i].place * 4096);
		ck_assert_uint_eq(runs.list[i].start, expected[i].start);
		ck_assert_uint_eq(runs.list[i].blocks, expected[i].blocks);
	}
	content_runs_free(&runs);
}

START_TEST(sources_follow_each_other)
{
	const uint32_t expected[] = { 1, 3, 4, 6, 2, 5 };

	ck_assert_uint_eq(plan.content_count, 6);
	ck_assert_mem_eq(plan.content_order, expected, sizeof(expected));
}
END_TEST

START_TEST(further_names_and_directories_have_no_place)
{
	teardown();
	nodes[3].link_to = 1;
	nodes[5].mode = S_IFIFO;
	ck_assert_int_eq(content_order_make(&plan), 0);
	const uint32_t expected[] = { 1, 4, 6, 2 };

	ck_assert_uint_eq(plan.content_count, 4);
	ck_assert_mem_eq(plan.content_order, expected, sizeof(expected));
}
END_TEST

START_TEST(the_tree_needs_no_order)
{
	teardown();
	options.layout = LAYOUT_TREE;
	ck_assert_int_eq(content_order_make(&plan), 0);
	ck_assert_ptr_null(plan.content_order);
}
END_TEST

START_TEST(neighbours_in_both_files_are_one_run)
{
	const struct expected_run expected[] = { { 1, 2, 0, 10, 100, 3 },
		                                 { 4, 2, 0, 14, 103, 3 },
		                                 { 2, 2, 1, 20, 106, 3 } };

	expect_runs(3, expected, 6);
}
END_TEST

START_TEST(metadata_of_a_group_ends_a_run)
{
	const struct expected_run expected[] = {
		{ 1, 1, 0, 10, 100, 1 }, { 3, 1, 0, 11, 200, 2 }, { 4, 2, 0, 14, 103, 3 }, { 2, 2, 1, 20, 106, 3 }
	};

	placements[3].start = 200;
	expect_runs(4, expected, 6);
}
END_TEST

START_TEST(a_file_may_be_cut)
{
	struct extent_list list = { 0 };
	const struct expected_run expected[] = {
		{ 1, 2, 0, 10, 100, 2 }, { 3, 0, 0, 12, 300, 1 }, { 4, 2, 0, 14, 103, 3 }, { 2, 2, 1, 20, 106, 3 }
	};

	ck_assert_int_eq(extent_list_add(&list, 0, 101, 1), 0);
	ck_assert_int_eq(extent_list_add(&list, 1, 300, 1), 0);
	placements[3].has_extent_map = true;
	placements[3].map = extent_map_create(&list, 0);
	expect_runs(4, expected, 6);
	free(placements[3].map);
	free(list.extents);
}
END_TEST

START_TEST(what_is_hidden_may_be_in_a_run)
{
	const struct expected_run cut[] = { { 1, 2, 0, 10, 100, 3 }, { 4, 2, 0, 14, 104, 3 }, { 2, 2, 1, 20, 107, 3 } };
	const struct expected_run kept[] = { { 1, 4, 0, 10, 100, 7 }, { 2, 2, 1, 20, 107, 3 } };
	uint64_t blocks;

	for (uint32_t node = 2; node < NODES; node++)
		placements[node].start += node != 3;
	expect_runs(3, cut, 6);
	ck_assert_int_eq(hidden_gaps_count(&plan, &blocks, NULL), 0);
	ck_assert_uint_eq(blocks, 0);
	options.keeps_hidden = true;
	expect_runs(2, kept, 6);
	ck_assert_int_eq(hidden_gaps_count(&plan, &blocks, NULL), 0);
	ck_assert_uint_eq(blocks, 1);
}
END_TEST

START_TEST(what_needs_a_look_is_in_no_run)
{
	const struct expected_run expected[] = { { 1, 1, 0, 10, 100, 1 },
		                                 { 4, 2, 0, 14, 103, 3 },
		                                 { 2, 1, 1, 20, 106, 1 } };

	placements[3].is_protected = true;
	nodes[5].is_encrypted = true;
	expect_runs(3, expected, 4);
	options.zeros_of_source = false;
	expect_runs(0, NULL, 0);
}
END_TEST

START_TEST(larger_blocks_would_hold_other_files)
{
	plan.format.block_bytes = 8192;
	plan.format.block_bits = 13;
	expect_runs(0, NULL, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("content_runs");
	TCase *tests = tcase_create("runs");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, sources_follow_each_other);
	tcase_add_test(tests, further_names_and_directories_have_no_place);
	tcase_add_test(tests, the_tree_needs_no_order);
	tcase_add_test(tests, neighbours_in_both_files_are_one_run);
	tcase_add_test(tests, metadata_of_a_group_ends_a_run);
	tcase_add_test(tests, a_file_may_be_cut);
	tcase_add_test(tests, what_is_hidden_may_be_in_a_run);
	tcase_add_test(tests, what_needs_a_look_is_in_no_run);
	tcase_add_test(tests, larger_blocks_would_hold_other_files);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
