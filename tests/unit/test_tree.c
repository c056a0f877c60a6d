/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/tree.h"

#include <string.h>
#include <sys/stat.h>

#include "text_tree.h"
#include "source/host/host_contents.h"
#include "source/kind/stored_contents.h"
#include "tree_check.h"
#include "unit.h"

/*
 * 0 /        children 1..4
 * 1 a        directory, children 5..6
 * 2 b        regular file, two names
 * 3 c        directory, empty
 * 4 d        symlink
 * 5 a/f      link to 2
 * 6 a/g      directory, child 7
 * 7 a/g/h    sparse
 */
enum { ROOT, A, B, C, D, A_F, A_G, A_G_H, NODES };

static struct tree *make_tree(void)
{
	static const char *const names[NODES] = { "", "a", "b", "c", "d", "f", "g", "h" };
	static const uint32_t parents[NODES] = { 0, 0, 0, 0, 0, A, A, A_G };
	struct tree *tree = calloc(1, sizeof(*tree));

	ck_assert_int_eq(host_contents_add(tree, "/source", -1, false, &(uint32_t){ 0 }), 0);
	tree->node_count = NODES;
	tree->nodes = calloc(NODES, sizeof(*tree->nodes));
	for (uint32_t i = 0; i < NODES; i++) {
		struct tree_node *node = &tree->nodes[i];

		node->name = arena_copy_string(&tree->memory, names[i], strlen(names[i]));
		node->name_bytes = (uint8_t)strlen(names[i]);
		node->parent = parents[i];
		node->link_to = i;
		node->mode = S_IFREG | 0644;
		node->links = 1;
	}
	struct tree_node *nodes = tree->nodes;
	static const struct {
		uint32_t node, first, count, links;
	} directories[] = { { ROOT, 1, 4, 4 }, { A, 5, 2, 3 }, { C, 0, 0, 2 }, { A_G, 7, 1, 2 } };

	for (size_t i = 0; i < 4; i++) {
		struct tree_node *node = &nodes[directories[i].node];

		node->mode = S_IFDIR | 0755;
		node->first_child = directories[i].first;
		node->child_count = directories[i].count;
		node->links = directories[i].links;
	}
	nodes[D].mode = S_IFLNK | 0777;
	nodes[D].target = arena_copy_string(&tree->memory, "to", 2);
	nodes[D].size_bytes = 2;
	nodes[A_F].link_to = B;
	nodes[A_F].links = 0;
	nodes[B].links = 2;
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map) + 2 * sizeof(struct tree_segment));

	*map = (struct tree_data_map){ .count = 2 };
	map->segments[0] = (struct tree_segment){ 0, 100 };
	map->segments[1] = (struct tree_segment){ 200, 50 };
	nodes[A_G_H].data_map = map;
	nodes[A_G_H].is_sparse = true;
	nodes[A_G_H].size_bytes = 250;

	tree->xattr_sets = calloc(3, sizeof(*tree->xattr_sets));
	tree->xattr_set_count = 3;
	for (uint32_t i = 1; i < 3; i++) {
		struct tree_xattr *list = arena_alloc(&tree->memory, 2 * sizeof(*list));

		list[0] = (struct tree_xattr){ "user.a", "value", 5 };
		list[1] = (struct tree_xattr){ "user.b", i == 1 ? "value1" : "value2", 6 };
		tree->xattr_sets[i] = (struct tree_xattr_set){ 2, 4711, list };
	}
	nodes[B].xattrs = 1;
	nodes[C].xattrs = 2;
	return tree;
}

static struct tree_node *node_of(struct tree *tree, uint32_t number)
{
	return &tree->nodes[number];
}

static struct tree_segment *segment_of(struct tree *tree, uint32_t number)
{
	return (struct tree_segment *)&tree->nodes[A_G_H].data_map->segments[number];
}

static struct tree_xattr *xattr_of(struct tree *tree, uint32_t set, uint32_t number)
{
	return (struct tree_xattr *)&tree->xattr_sets[set].list[number];
}

START_TEST(a_sound_tree_is_sound)
{
	struct tree *tree = make_tree();
	char why[200] = "";

	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);
	tree_destroy(tree);
}
END_TEST

/* One thing wrong at a time, and a part of what must be said about it. */
#define WRONG(words, damage)                                                                                           \
	do {                                                                                                           \
		struct tree *tree = make_tree();                                                                       \
		char why[200] = "";                                                                                    \
                                                                                                                       \
		damage;                                                                                                \
		ck_assert_msg(!tree_check(tree, why, sizeof(why)), "missed: %s", #damage);                             \
		ck_assert_msg(strstr(why, words), "said of %s: %s", #damage, why);                                     \
		tree_destroy(tree);                                                                                    \
	} while (0)

START_TEST(what_is_wrong_is_found)
{
	WRONG("own parent", node_of(tree, ROOT)->mode = S_IFREG);
	WRONG("own parent", node_of(tree, ROOT)->parent = 1);
	WRONG("own parent", tree->node_count = 0);
	WRONG("root has a name", (node_of(tree, ROOT)->name = "x", node_of(tree, ROOT)->name_bytes = 1));
	WRONG("not a name", (node_of(tree, A)->name = "", node_of(tree, A)->name_bytes = 0));
	WRONG("not a name", (node_of(tree, A)->name = ".", node_of(tree, A)->name_bytes = 1));
	WRONG("not a name", (node_of(tree, A)->name = "..", node_of(tree, A)->name_bytes = 2));
	WRONG("not a name", (node_of(tree, A)->name = "a/b", node_of(tree, A)->name_bytes = 3));
	WRONG("bytes, not", node_of(tree, A)->name_bytes = 2);
	WRONG("no name", node_of(tree, A)->name = NULL);
	WRONG("not sorted", node_of(tree, B)->name = "a");
	WRONG("not sorted", node_of(tree, B)->name = "\377");
	WRONG("the parent is", node_of(tree, A_F)->parent = ROOT);
	WRONG("its run begins", node_of(tree, A_G)->first_child = 6);
	WRONG("its run begins", node_of(tree, C)->child_count = 1);
	WRONG("beyond the last", node_of(tree, A_G)->child_count = 2);
	WRONG("in no directory", node_of(tree, A_G)->child_count = 0);
	WRONG("not a directory", node_of(tree, A_G_H)->child_count = 1);
	WRONG("no known type", node_of(tree, B)->mode = 0644);
	WRONG("has a size", node_of(tree, C)->size_bytes = 4096);
	WRONG("as long as", node_of(tree, D)->size_bytes = 3);
	WRONG("as long as", (node_of(tree, D)->size_bytes = 0, node_of(tree, D)->target = ""));
	WRONG("as long as", node_of(tree, D)->target = NULL);
	WRONG("not a regular", node_of(tree, D)->is_sparse = true);
	WRONG("not a directory", node_of(tree, B)->is_implied = true);
	WRONG("without a map", node_of(tree, A_G_H)->data_map = NULL);
	WRONG("is empty", segment_of(tree, 0)->length_bytes = 0);
	WRONG("touches", segment_of(tree, 1)->start_bytes = 100);
	WRONG("touches", segment_of(tree, 1)->start_bytes = 99);
	WRONG("beyond the file", segment_of(tree, 1)->length_bytes = 51);
	WRONG("beyond the file", segment_of(tree, 1)->length_bytes = UINT64_MAX - 100);
	WRONG("beyond the file", segment_of(tree, 1)->start_bytes = 300);
	WRONG("nanoseconds", node_of(tree, B)->mtime_nanoseconds = 1000000000);
	WRONG("comes later", node_of(tree, A)->link_to = B);
	WRONG("comes later", node_of(tree, B)->link_to = UINT32_MAX);
	WRONG("link to a directory", node_of(tree, C)->link_to = A);
	WRONG("another type", node_of(tree, D)->link_to = B);
	WRONG("link itself", node_of(tree, A_G_H)->link_to = A_F);
	WRONG("2 links, but 1", node_of(tree, A_F)->link_to = A_F);
	WRONG("1 links, but 2", node_of(tree, B)->links = 1);
	WRONG("origin 1 of 1", node_of(tree, B)->origin = 1);
	/* What is not counted is not freed either. */
	WRONG("no origin", (tree->origins[0].contents->close(tree->origins[0].data), free(tree->origins[0].path),
	                    tree->origin_count = 0));
	WRONG("2 links, but 3", node_of(tree, A)->links = 2);
	WRONG("xattr set 3 of 3", node_of(tree, B)->xattrs = 3);
	WRONG("no empty xattr set", tree->xattr_set_count = 0);
	WRONG("xattr set 0 has 2", tree->xattr_sets[0] = tree->xattr_sets[1]);
	WRONG("xattr set 2 has 0", tree->xattr_sets[2].count = 0);
	WRONG("is not sorted", xattr_of(tree, 1, 1)->name = "user.a");
	WRONG("are equal", xattr_of(tree, 2, 1)->value = "value1");
}
END_TEST

START_TEST(a_short_why_is_cut)
{
	struct tree *tree = make_tree();
	char why[8] = "xxxxxxx";

	tree->nodes[C].size_bytes = 1;
	ck_assert(!tree_check(tree, why, 6));
	ck_assert_str_eq(why, "node ");
	ck_assert_int_eq(why[6], 'x');
	tree_destroy(tree);
}
END_TEST

static void expect_path(struct tree *tree, const char *root, uint32_t node, const char *expected)
{
	free(tree->origins[0].path);
	tree->origins[0].path = strdup(root);
	SCOPE_FREE char *path = tree_path(tree, node);

	ck_assert_str_eq(path, expected);
}

START_TEST(paths_are_whole)
{
	struct tree *tree = make_tree();
	uint32_t number;

	expect_path(tree, "/source", ROOT, "/source");
	expect_path(tree, "/source", A_G_H, "/source/a/g/h");
	expect_path(tree, "source/", D, "source/d");
	expect_path(tree, "/", A_F, "/a/f");
	expect_path(tree, "/", ROOT, "/");
	expect_path(tree, ".", B, "./b");
	ck_assert_int_eq(stored_contents_add(tree, "archive", -1, &number), 0);
	const struct tree_origin host = tree->origins[0];

	tree->origins[0] = tree->origins[number];
	tree->origins[number] = host;
	expect_path(tree, "a.tar", ROOT, "a.tar");
	expect_path(tree, "./a.tar", A_G_H, "./a.tar: a/g/h");
	tree_destroy(tree);
	tree_destroy(NULL);
}
END_TEST

/* Names that are the beginning of others, by their length alone. */
START_TEST(names_and_paths_are_found)
{
	static const char text[] = "d0 a\nf1 a/b\nf1 a/ba\nd0 a/bab\nf1 a/bab/c\nf1 a/c\nf1 ab\n";
	struct tree *tree = text_tree("source", text);
	uint32_t a, node;

	ck_assert(tree_find_path(tree, "a", &a));
	for (size_t bytes = 1; bytes <= 3; bytes++) {
		node = tree_find(tree, a, "babx", bytes);
		ck_assert_uint_ne(node, TREE_ROOT);
		ck_assert_uint_eq(tree->nodes[node].name_bytes, bytes);
	}
	ck_assert_uint_eq(tree_find(tree, a, "babx", 4), TREE_ROOT);
	ck_assert_uint_eq(tree_find(tree, a, "aa", 2), TREE_ROOT);
	ck_assert(tree_find_path(tree, "/a//bab/c/", &node));
	ck_assert_str_eq(tree->nodes[node].name, "c");
	ck_assert_uint_ne(tree->nodes[node].parent, a);
	ck_assert(tree_find_path(tree, "", &node) && node == TREE_ROOT);
	ck_assert(!tree_find_path(tree, "a/b/c", &node));
	ck_assert(!tree_find_path(tree, "a/.", &node));
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tree");
	TCase *tests = tcase_create("tree");

	tcase_add_test(tests, a_sound_tree_is_sound);
	tcase_add_test(tests, what_is_wrong_is_found);
	tcase_add_test(tests, a_short_why_is_cut);
	tcase_add_test(tests, paths_are_whole);
	tcase_add_test(tests, names_and_paths_are_found);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
