/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/owner_map.h"

#include <endian.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/stat.h>

#include "host_tree.h"
#include "tree/xattr_table.h"
#include "tree_check.h"
#include "unit.h"

#define PASSWD "root:x:0:0:root:/root:/bin/sh\nbroken\nshort:x:9\nweb:x:33:33::/:\nweb:x:34:34::/:\nlost:x:-1:0::/:\n"
#define GROUP "root:x:0:\nstaff:x:50:web\n"

#define MEMBERS 100000

/* After a group with many members. */
static void write_groups(const char *path)
{
	SCOPE_FREE char *members = malloc(2 * MEMBERS + 1);
	SCOPE_FREE char *text = NULL;

	for (size_t i = 0; i < MEMBERS; i++)
		memcpy(members + 2 * i, "m,", 3);
	ck_assert_int_gt(asprintf(&text, "many:x:49:%s\n%s", members, GROUP), 0);
	host_tree_write(path, text);
}

/* etc with passwd and group, and some files. */
static struct tree *small_tree(void)
{
	SCOPE_FREE char *path = host_tree_directory();

	ck_assert_int_eq(mkdir(host_tree_below(path, "etc"), 0755), 0);
	host_tree_write(host_tree_below(path, "etc/passwd"), PASSWD);
	write_groups(host_tree_below(path, "etc/group"));
	host_tree_write(host_tree_below(path, "a"), "");
	host_tree_write(host_tree_below(path, "b"), "");
	struct tree *tree = host_tree_scan(path, NULL, 0);

	for (uint32_t node = 0; node < tree->node_count; node++)
		tree->nodes[node].uid = tree->nodes[node].gid = 0;
	return tree;
}

static void write_rules(char *path, size_t path_bytes, const char *rules)
{
	SCOPE_FREE char *directory = host_tree_directory();

	snprintf(path, path_bytes, "%s", host_tree_below(directory, "rules"));
	host_tree_write(path, rules);
}

static errcode_t add_rules(struct owner_map *map, const char *rules, struct problem *problem)
{
	char path[500];

	write_rules(path, sizeof(path), rules);
	return owner_map_add_file(map, path, problem);
}

/* Compares the message from the last component of the path on. */
static void expect_text(struct problem *problem, const char *expected)
{
	SCOPE_FREE char *text = problem_text(problem);
	const char *slash = strrchr(text, '/');

	while (slash && slash > text && strlen(slash) < strlen(expected) + 1)
		slash = memrchr(text, '/', (size_t)(slash - text));
	ck_assert_str_eq(slash ? slash + 1 : text, expected);
	problem_clear(problem);
}

static void add_range(struct owner_map *map, enum account_kind kind, const char *text)
{
	ck_assert_int_eq(owner_map_add_range(map, kind, text, "test", NULL), 0);
}

static void expect_owner(const struct tree *tree, const char *name, uint32_t uid, uint32_t gid)
{
	const struct tree_node *node = &tree->nodes[tree_find(tree, TREE_ROOT, name, strlen(name))];

	ck_assert_uint_eq(node->uid, uid);
	ck_assert_uint_eq(node->gid, gid);
}

START_TEST(everything_can_be_roots)
{
	struct owner_map map = { .root_owned = true };
	struct tree *tree = small_tree();

	for (uint32_t node = 0; node < tree->node_count; node++)
		tree->nodes[node].uid = tree->nodes[node].gid = node + 1;
	ck_assert_int_eq(owner_map_apply(&map, tree, NULL), 0);
	for (uint32_t node = 0; node < tree->node_count; node++)
		ck_assert_uint_eq(tree->nodes[node].uid | tree->nodes[node].gid, 0);
	owner_map_destroy(&map);
	tree_destroy(tree);
}
END_TEST

START_TEST(rules_decide_user_and_group_apart)
{
	struct owner_map map = { 0 };
	struct tree *tree = small_tree();
	struct tree_node *a = &tree->nodes[tree_find(tree, TREE_ROOT, "a", 1)];
	struct tree_node *b = &tree->nodes[tree_find(tree, TREE_ROOT, "b", 1)];

	*a = (struct tree_node){ .name = a->name,
		                 .name_bytes = 1,
		                 .mode = a->mode,
		                 .link_to = a->link_to,
		                 .links = 1,
		                 .uid = 1000,
		                 .gid = 100 };
	*b = (struct tree_node){ .name = b->name,
		                 .name_bytes = 1,
		                 .mode = b->mode,
		                 .link_to = b->link_to,
		                 .links = 1,
		                 .uid = 1000,
		                 .gid = 200 };
	ck_assert_int_eq(
		add_rules(&map, "# comment\n\n1000:100 :staff\n\t1000 web\n1000 7\n*:200 :8\n*:* *:9\n0: 1:1\n", NULL),
		0);
	ck_assert_int_eq(owner_map_apply(&map, tree, NULL), 0);
	expect_owner(tree, "a", 33, 50);
	expect_owner(tree, "b", 33, 8);
	expect_owner(tree, "etc", 1, 9);
	owner_map_destroy(&map);
	tree_destroy(tree);
}
END_TEST

static void refuses_rules(const char *rules, const char *expected)
{
	struct owner_map map = { 0 };
	struct problem problem = { 0 };
	struct tree *tree = small_tree();
	errcode_t error = add_rules(&map, rules, &problem);

	if (!error)
		error = owner_map_apply(&map, tree, &problem);
	ck_assert_int_ne(error, 0);
	expect_text(&problem, expected);
	owner_map_destroy(&map);
	tree_destroy(tree);
}

START_TEST(bad_rules_are_refused)
{
	refuses_rules("1 2\n3\n", "rules:2: bad rule: \"3\" is followed by no new owner");
	refuses_rules("1 2 3", "rules:1: bad rule: \"3\" follows the new owner");
	refuses_rules("1:2:3 4", "rules:1: bad rule: \"3\" follows user and group");
	refuses_rules("1 *:", "rules:1: bad rule: \"*\" names neither a user nor a group");
	refuses_rules("4294967295 1", "rules:1: bad rule: \"4294967295\" is larger than any id");
	refuses_rules("1 99999999999999999999", "rules:1: bad rule: \"99999999999999999999\" is larger than any id");
	refuses_rules("1 staff", "rules:1: unknown name: \"staff\" is not a user in the source's etc/passwd: add it "
	                         "there, or give a number");
	refuses_rules("1 :web", "rules:1: unknown name: \"web\" is not a group in the source's etc/group: add it "
	                        "there, or give a number");
	refuses_rules("1 we", "rules:1: unknown name: \"we\" is not a user in the source's etc/passwd: add it there, "
	                      "or give a number");
	refuses_rules("short 1", "rules:1: unknown name: \"short\" is not a user in the source's etc/passwd: add it "
	                         "there, or give a number");
	refuses_rules("lost 1", "rules:1: unknown name: \"lost\" is not a user in the source's etc/passwd: add it "
	                        "there, or give a number");
}
END_TEST

static void refuses_ranges(const char *ranges, const char *expected)
{
	SCOPE_FREE char *copy = strdup(ranges);
	struct owner_map map = { 0 };
	struct problem problem = { 0 };
	errcode_t error = 0;

	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		ck_assert_int_eq(error, 0);
		error = owner_map_add_range(&map, ACCOUNT_USER, word, "--uid-map", &problem);
	}
	ck_assert_int_eq(error, EINVAL);
	expect_text(&problem, expected);
	owner_map_destroy(&map);
}

START_TEST(bad_ranges_are_refused)
{
	static const char *const forms[] = {
		"1",     "1:2",    "1:2:",           ":2:3",           "1:2:3:4",        "a:2:3",
		"1:2:0", "-1:2:3", "4294967295:0:1", "4294967294:0:2", "0:4294967294:2", "0:0:4294967296"
	};
	char expected[200];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		snprintf(expected, sizeof(expected),
		         "--uid-map: bad range: \"%s\" is not FROM:TO:COUNT with ids up to 4294967294", forms[i]);
		refuses_ranges(forms[i], expected);
	}
	refuses_ranges("10:0:10 5:100:6", "--uid-map: bad range: \"5:100:6\" overlaps \"10:0:10\"");
	refuses_ranges("10:0:10 19:100:1", "--uid-map: bad range: \"19:100:1\" overlaps \"10:0:10\"");
	refuses_ranges("10:0:10 100:9:1", "--uid-map: bad range: \"100:9:1\" overlaps \"10:0:10\"");
}
END_TEST

START_TEST(ranges_map_all_or_fail)
{
	struct owner_map map = { 0 };
	struct problem problem = { 0 };
	struct tree *tree = small_tree();
	struct tree_node *a = &tree->nodes[tree_find(tree, TREE_ROOT, "a", 1)];

	a->uid = 4294967294;
	a->gid = 100;
	add_range(&map, ACCOUNT_USER, "0:4294967294:1");
	add_range(&map, ACCOUNT_USER, "4294967294:0:1");
	ck_assert_int_eq(owner_map_apply(&map, tree, NULL), 0);
	expect_owner(tree, "a", 0, 100);
	expect_owner(tree, "b", 4294967294, 0);
	add_range(&map, ACCOUNT_GROUP, "0:5:100");
	a->uid = 0;
	tree->nodes[TREE_ROOT].uid = 0;
	ck_assert_int_eq(owner_map_apply(&map, tree, &problem), ERANGE);
	expect_text(&problem, "a: cannot map its owner: group 100 is in no range of the map: add a range for it");
	/* A rule goes before the ranges, and then none is needed. */
	for (uint32_t node = 0; node < tree->node_count; node++)
		tree->nodes[node].uid = tree->nodes[node].gid = 0;
	a->gid = 100;
	ck_assert_int_eq(add_rules(&map, ":100 :7", NULL), 0);
	ck_assert_int_eq(owner_map_apply(&map, tree, NULL), 0);
	expect_owner(tree, "a", 4294967294, 7);
	expect_owner(tree, "b", 4294967294, 5);
	owner_map_destroy(&map);
	tree_destroy(tree);
}
END_TEST

START_TEST(ranges_agree_with_a_table)
{
	struct random random = random_start("ranges_agree_with_a_table");
	struct tree *tree = small_tree();
	struct tree_node *root = &tree->nodes[TREE_ROOT];

	tree->node_count = 1;
	for (int round = 0; round < 300; round++) {
		uint32_t table[64];
		bool taken[64] = { 0 };
		struct owner_map map = { 0 };

		memset(table, 0xff, sizeof(table));
		for (int i = 0; i < 8; i++) {
			uint32_t from = (uint32_t)random_below(&random, 60), to = (uint32_t)random_below(&random, 60);
			uint32_t count = 1 + (uint32_t)random_below(&random, 4);
			bool is_free = true;
			char text[64];

			for (uint32_t k = 0; k < count; k++)
				is_free = is_free && table[from + k] == UINT32_MAX && !taken[to + k];
			snprintf(text, sizeof(text), "%u:%u:%u", from, to, count);
			ck_assert_int_eq(owner_map_add_range(&map, ACCOUNT_GROUP, text, "test", NULL),
			                 is_free ? 0 : EINVAL);
			for (uint32_t k = 0; is_free && k < count; k++) {
				table[from + k] = to + k;
				taken[to + k] = true;
			}
		}
		for (uint32_t id = 0; id < 64; id++) {
			root->gid = id;
			errcode_t error = owner_map_apply(&map, tree, NULL);

			ck_assert_int_eq(error, table[id] == UINT32_MAX ? ERANGE : 0);
			ck_assert_uint_eq(root->gid, error ? id : table[id]);
		}
		owner_map_destroy(&map);
	}
	tree->node_count = 6;
	tree_destroy(tree);
}
END_TEST

struct acl {
	struct posix_acl_xattr_header header;
	struct posix_acl_xattr_entry entries[6];
};

static struct acl acl_of(uint32_t user, uint32_t other_user, uint32_t group)
{
	return (struct acl){
		{ htole32(POSIX_ACL_XATTR_VERSION) },
		{ { htole16(ACL_USER_OBJ), htole16(7), UINT32_MAX },
		  { htole16(ACL_USER), htole16(5), htole32(user) },
		  { htole16(ACL_USER), htole16(4), htole32(other_user) },
		  { htole16(ACL_GROUP_OBJ), htole16(5), UINT32_MAX },
		  { htole16(ACL_GROUP), htole16(1), htole32(group) },
		  { htole16(ACL_MASK), htole16(7), UINT32_MAX } },
	};
}

static void give_xattr(struct tree *tree, const char *file, const char *name, const void *value, size_t bytes)
{
	struct tree_node *node = &tree->nodes[tree_find(tree, TREE_ROOT, file, strlen(file))];
	const struct tree_xattr xattr = { name, arena_copy_string(&tree->memory, value, bytes), (uint32_t)bytes };

	ck_assert_int_eq(xattr_sets_add(tree, node->xattrs, &xattr, &node->xattrs), 0);
	ck_assert_int_eq(xattr_sets_unify(tree), 0);
}

static const struct tree_xattr *xattr_of(const struct tree *tree, const char *file)
{
	return tree->xattr_sets[tree->nodes[tree_find(tree, TREE_ROOT, file, strlen(file))].xattrs].list;
}

START_TEST(ids_within_acls_are_mapped)
{
	struct owner_map map = { 0 };
	struct problem problem = { 0 };
	struct tree *tree = small_tree();
	struct acl acl = acl_of(1000, 2000, 3000), expected = acl_of(20, 50, 3033);
	char why[300];

	expected.entries[1].e_perm = htole16(4);
	expected.entries[2].e_perm = htole16(5);
	give_xattr(tree, "a", "system.posix_acl_access", &acl, sizeof(acl));
	give_xattr(tree, "b", "system.posix_acl_access", &expected, sizeof(expected));
	add_range(&map, ACCOUNT_USER, "0:0:100");
	add_range(&map, ACCOUNT_USER, "1000:1000:2");
	ck_assert_int_eq(add_rules(&map, "1000:0 51\n1000 50\n2000 20\n:3000 :3033\n* 7:7\n0:0 20\n", NULL), 0);
	ck_assert_int_eq(owner_map_apply(&map, tree, NULL), 0);
	ck_assert_uint_eq(xattr_of(tree, "a")->value_bytes, sizeof(expected));
	ck_assert_mem_eq(xattr_of(tree, "a")->value, &expected, sizeof(expected));
	/* Both are the same now. */
	ck_assert_uint_eq(tree->xattr_set_count, 2);
	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);

	acl = acl_of(500, 0, 0);
	give_xattr(tree, "etc", "system.posix_acl_default", &acl, sizeof(acl));
	ck_assert_int_eq(owner_map_apply(&map, tree, &problem), ERANGE);
	expect_text(&problem,
	            "etc: cannot map its extended attributes: user 500 is in no range of the map: add a range for it");
	owner_map_destroy(&map);
	tree_destroy(tree);
}
END_TEST

START_TEST(root_of_a_capability_is_mapped)
{
	struct owner_map map = { 0 };
	struct tree *tree = small_tree();
	struct vfs_ns_cap_data capability = { htole32(VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE),
		                              { { 1, 2 }, { 3, 4 } },
		                              htole32(1000) };
	struct vfs_cap_data expected = { htole32(VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE),
		                         { { 1, 2 }, { 3, 4 } } };

	give_xattr(tree, "a", "security.capability", &capability, sizeof(capability));
	capability.rootid = htole32(1001);
	give_xattr(tree, "b", "security.capability", &capability, sizeof(capability));
	capability.rootid = htole32(7);
	ck_assert_int_eq(add_rules(&map, "1000 0\n1001 7\n", NULL), 0);
	ck_assert_int_eq(owner_map_apply(&map, tree, NULL), 0);
	ck_assert_uint_eq(xattr_of(tree, "a")->value_bytes, sizeof(expected));
	ck_assert_mem_eq(xattr_of(tree, "a")->value, &expected, sizeof(expected));
	ck_assert_uint_eq(xattr_of(tree, "b")->value_bytes, sizeof(capability));
	ck_assert_mem_eq(xattr_of(tree, "b")->value, &capability, sizeof(capability));
	owner_map_destroy(&map);
	tree_destroy(tree);
}
END_TEST

START_TEST(sets_are_changed_and_made_one)
{
	struct tree *tree = small_tree();
	char why[300];

	give_xattr(tree, "a", "user.b", "1", 1);
	give_xattr(tree, "a", "user.a", "2", 1);
	give_xattr(tree, "a", "user.c", "3", 1);
	give_xattr(tree, "a", "user.b", "4", 1);
	give_xattr(tree, "b", "user.c", "3", 1);
	give_xattr(tree, "b", "user.a", "2", 1);
	ck_assert_uint_eq(tree->xattr_set_count, 3);
	give_xattr(tree, "b", "user.b", "4", 1);
	ck_assert_uint_eq(tree->xattr_set_count, 2);
	ck_assert_ptr_eq(xattr_of(tree, "a"), xattr_of(tree, "b"));
	ck_assert_uint_eq(tree->xattr_sets[1].count, 3);
	ck_assert_str_eq(xattr_of(tree, "a")[1].name, "user.b");
	ck_assert_mem_eq(xattr_of(tree, "a")[1].value, "4", 1);
	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("owner_map");
	TCase *test_case = tcase_create("owner_map");

	suite_add_tcase(suite, test_case);
	tcase_add_unchecked_fixture(test_case, host_tree_begin, host_tree_end);
	tcase_add_test(test_case, everything_can_be_roots);
	tcase_add_test(test_case, rules_decide_user_and_group_apart);
	tcase_add_test(test_case, bad_rules_are_refused);
	tcase_add_test(test_case, bad_ranges_are_refused);
	tcase_add_test(test_case, ranges_map_all_or_fail);
	tcase_add_test(test_case, ranges_agree_with_a_table);
	tcase_add_test(test_case, ids_within_acls_are_mapped);
	tcase_add_test(test_case, root_of_a_capability_is_mapped);
	tcase_add_test(test_case, sets_are_changed_and_made_one);
	return run_suite(suite);
}
