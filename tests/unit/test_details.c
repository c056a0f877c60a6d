/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/details.h"

#include <sys/stat.h>

#include "source/layers/merge.h"
#include "support/run/pool.h"
#include "text_tree.h"
#include "tree/tree_builder.h"
#include "unit.h"

static uint32_t find(const struct tree *tree, const char *path)
{
	uint32_t node;

	ck_assert(tree_find_path(tree, path, &node));
	return node;
}

static void give_project(struct tree *tree, const char *path, uint32_t project)
{
	const struct tree_detail detail = { .project = project };
	struct tree_node *node = &tree->nodes[tree->nodes[find(tree, path)].link_to];

	ck_assert_int_eq(tree_add_detail(tree, &detail, &node->detail), 0);
}

static uint32_t project_at(const struct tree *tree, const char *path)
{
	return tree_detail(tree, &tree->nodes[find(tree, path)])->project;
}

START_TEST(nothing_costs_nothing)
{
	struct tree *tree = text_tree("origin", "f1 a\nf2 b\n");
	uint32_t number = 7;

	ck_assert_int_eq(tree_add_detail(tree, &(struct tree_detail){ 0 }, &number), 0);
	ck_assert_uint_eq(number, 0);
	ck_assert_ptr_null(tree->details);
	ck_assert_uint_eq(project_at(tree, "a"), 0);
	ck_assert_uint_eq(tree->detail_count, 0);
	ck_assert(!tree_detail(tree, &tree->nodes[TREE_ROOT])->atime.is_known);
	tree_destroy(tree);
}
END_TEST

START_TEST(each_has_its_own)
{
	struct tree *tree = text_tree("origin", "f1 a\nf2 b\nf3 c\n");
	static const struct tree_verity verity;
	static const struct tree_detail details[] = {
		{ .atime = { -1, 999999999, true } },
		{ .ctime.is_known = true },
		{ .crtime.is_known = true },
		{ .project = UINT32_MAX - 1 },
		{ .inode_number = 11 },
		{ .generation = 3 },
		{ .verity = &verity },
		{ .is_unloaded = true },
	};
	const size_t count = sizeof(details) / sizeof(*details);
	struct tree_node node = { 0 };

	for (size_t round = 0; round < 1000; round++) {
		for (size_t i = 0; i < count; i++) {
			ck_assert_int_eq(tree_add_detail(tree, &details[i], &node.detail), 0);
			ck_assert_uint_eq(node.detail, 1 + round * count + i);
		}
	}
	for (uint32_t i = 0; i < 1000 * count; i++) {
		node.detail = 1 + i;
		ck_assert_mem_eq(tree_detail(tree, &node), &details[i % count], sizeof(struct tree_detail));
	}
	node.detail = 0;
	ck_assert_mem_eq(tree_detail(tree, &node), &tree_no_detail, sizeof(struct tree_detail));
	tree_destroy(tree);
}
END_TEST

/* As the many of one project are, each after another. */
START_TEST(neighbours_share_equal_ones)
{
	struct tree *tree = text_tree("origin", "f1 a\nf2 b\nf3 c\nf4 d\n");

	give_project(tree, "a", 7);
	give_project(tree, "b", 7);
	give_project(tree, "c", 8);
	give_project(tree, "d", 7);
	ck_assert_uint_eq(tree->nodes[find(tree, "a")].detail, tree->nodes[find(tree, "b")].detail);
	ck_assert_uint_eq(tree->detail_count, 1 + 3);
	ck_assert_uint_eq(project_at(tree, "b"), 7);
	ck_assert_uint_eq(project_at(tree, "c"), 8);
	ck_assert_uint_eq(project_at(tree, "d"), 7);
	tree_destroy(tree);
}
END_TEST

/* What a file has follows it into the merged tree, and what is hidden is not copied. */
START_TEST(merged)
{
	struct tree *lower = text_tree("lower", "d0 d\nf1 d/gone\nf2 d/kept\nf3 first\nh0 second first\n");
	struct tree *upper = text_tree("upper", "d0 d\nf4 d/gone\nf5 new\n"), *tree;
	struct problem problem = { 0 };

	give_project(lower, "", 1);
	give_project(lower, "d/gone", 2);
	give_project(lower, "d/kept", 3);
	give_project(lower, "first", 4);
	give_project(upper, "d", 5);
	give_project(upper, "new", 6);
	struct merge_layer layers[] = { { .tree = lower }, { .tree = upper } };

	ck_assert_int_eq(tree_merge(layers, 2, &(const struct merge_options){ 0 }, &tree, &problem), 0);
	ck_assert_uint_eq(project_at(tree, ""), 0);
	ck_assert_uint_eq(project_at(tree, "d"), 5);
	ck_assert_uint_eq(project_at(tree, "d/gone"), 0);
	ck_assert_uint_eq(project_at(tree, "d/kept"), 3);
	ck_assert_uint_eq(project_at(tree, "new"), 6);
	ck_assert_uint_eq(project_at(tree, "first"), 4);
	ck_assert_uint_eq(tree->nodes[find(tree, "second")].detail, tree->nodes[find(tree, "first")].detail);
	ck_assert_uint_eq(tree->detail_count, 1 + 4);
	tree_destroy(tree);
}
END_TEST

/* From its first mention on, through replacement, links and the order of the tree. */
START_TEST(built)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	struct tree_builder *builder;
	struct tree_node node = { .mode = S_IFREG | 0644 }, *file;
	struct problem problem = { 0 };
	uint32_t *order;
	struct pool *pool;
	static const char *const paths[] = { "z/b", "z/a", "y", "z/b" };

	ck_assert_int_eq(pool_create(0, &pool), 0);
	ck_assert_int_eq(tree_builder_create(tree, NULL, NULL, &builder), 0);
	for (uint32_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		ck_assert_int_eq(tree_add_detail(tree, &(struct tree_detail){ .project = 1 + i }, &node.detail), 0);
		ck_assert_int_eq(tree_builder_add(builder, paths[i], &node), 0);
	}
	ck_assert_int_eq(tree_builder_link(builder, "x", "y", &file), 0);
	ck_assert_uint_eq(tree_builder_order(builder), 1 + 5);
	ck_assert_int_eq(tree_builder_finish(builder, pool, &order, &problem), 0);
	tree_builder_destroy(builder);
	pool_destroy(pool);
	ck_assert_uint_eq(project_at(tree, "z/b"), 4);
	ck_assert_uint_eq(project_at(tree, "z/a"), 2);
	ck_assert_uint_eq(project_at(tree, "y"), 3);
	ck_assert_uint_eq(project_at(tree, "x"), 3);
	ck_assert_uint_eq(project_at(tree, "z"), 0);
	/* The root, z, then the names as they came first. */
	ck_assert_uint_eq(order[find(tree, "z")], 1);
	ck_assert_uint_eq(order[find(tree, "z/b")], 2);
	ck_assert_uint_eq(order[find(tree, "z/a")], 3);
	ck_assert_uint_eq(order[find(tree, "y")], 4);
	ck_assert_uint_eq(order[find(tree, "x")], 5);
	free(order);
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("details");
	TCase *details = tcase_create("details");

	tcase_add_test(details, nothing_costs_nothing);
	tcase_add_test(details, each_has_its_own);
	tcase_add_test(details, neighbours_share_equal_ones);
	tcase_add_test(details, merged);
	tcase_add_test(details, built);
	suite_add_tcase(suite, details);
	return run_suite(suite);
}
