/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct check {
	const struct tree *tree;
	uint32_t *names; /* by node: how many name this file; directories: how many subdirectories */
	uint32_t next;   /* the node that the next run must begin with */
	char *why;
	size_t why_bytes;
};

__attribute__((format(printf, 3, 4))) static bool fail(const struct check *check, uint32_t node, const char *format,
                                                       ...)
{
	const char *name = node < check->tree->node_count ? check->tree->nodes[node].name : NULL;
	va_list arguments;
	int used = snprintf(check->why, check->why_bytes, "node %u (%.64s): ", node, name ? name : "");

	if (used < 0 || (size_t)used >= check->why_bytes)
		return false;
	va_start(arguments, format);
	vsnprintf(check->why + used, check->why_bytes - (size_t)used, format, arguments);
	va_end(arguments);
	return false;
}

static bool check_name(const struct check *check, uint32_t number)
{
	const struct tree_node *node = &check->tree->nodes[number];

	if (!node->name)
		return fail(check, number, "no name");
	if (strlen(node->name) != node->name_bytes)
		return fail(check, number, "the name has %zu bytes, not %u", strlen(node->name), node->name_bytes);
	if (number == TREE_ROOT)
		return !*node->name || fail(check, number, "the root has a name");
	if (!*node->name || !strcmp(node->name, ".") || !strcmp(node->name, "..") || strchr(node->name, '/'))
		return fail(check, number, "not a name for a file");
	return true;
}

static bool check_data_map(const struct check *check, uint32_t number)
{
	const struct tree_node *node = &check->tree->nodes[number];
	uint64_t end = 0;

	if (!node->data_map)
		return fail(check, number, "a sparse file without a map");
	for (uint32_t i = 0; i < node->data_map->count; i++) {
		const struct tree_segment *segment = &node->data_map->segments[i];

		if (!segment->length_bytes)
			return fail(check, number, "segment %u is empty", i);
		if (segment->start_bytes < end || (i && segment->start_bytes == end))
			return fail(check, number, "segment %u touches the one before", i);
		if (segment->start_bytes > node->size_bytes ||
		    segment->length_bytes > node->size_bytes - segment->start_bytes)
			return fail(check, number, "segment %u ends beyond the file", i);
		end = segment->start_bytes + segment->length_bytes;
	}
	return true;
}

static bool check_type(const struct check *check, uint32_t number)
{
	const struct tree_node *node = &check->tree->nodes[number];

	if (node->is_sparse && !S_ISREG(node->mode))
		return fail(check, number, "sparse, but not a regular file");
	if (node->is_implied && !S_ISDIR(node->mode))
		return fail(check, number, "implied, but not a directory");
	if (node->child_count && !S_ISDIR(node->mode))
		return fail(check, number, "children, but not a directory");
	switch (node->mode & S_IFMT) {
	case S_IFREG:
		return !node->is_sparse || check_data_map(check, number);
	case S_IFLNK:
		if (!node->target || !*node->target || strlen(node->target) != node->size_bytes)
			return fail(check, number, "the link's target is not as long as its size");
		return true;
	case S_IFDIR:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return !node->size_bytes || fail(check, number, "neither file nor symlink, but it has a size");
	default:
		return fail(check, number, "mode %o has no known type", node->mode);
	}
}

static bool check_node(const struct check *check, uint32_t number)
{
	const struct tree_node *node = &check->tree->nodes[number];

	if (node->origin >= check->tree->origin_count)
		return fail(check, number, "origin %u of %u", node->origin, check->tree->origin_count);
	if (!check_name(check, number) || !check_type(check, number))
		return false;
	if (node->xattrs >= check->tree->xattr_set_count)
		return fail(check, number, "xattr set %u of %u", node->xattrs, check->tree->xattr_set_count);
	if (node->mtime_nanoseconds >= 1000000000)
		return fail(check, number, "%u nanoseconds", node->mtime_nanoseconds);
	return true;
}

/* A directory's run: where it begins, whose it is, and its order. */
static bool check_run(struct check *check, uint32_t number)
{
	const struct tree_node *nodes = check->tree->nodes;
	const struct tree_node *directory = &nodes[number];

	if (!directory->child_count)
		return true;
	if (directory->first_child != check->next)
		return fail(check, number, "its run begins at %u, not at %u", directory->first_child, check->next);
	if (directory->child_count > check->tree->node_count - check->next)
		return fail(check, number, "its run ends beyond the last node");
	check->next += directory->child_count;
	for (uint32_t i = directory->first_child; i < check->next; i++) {
		if (nodes[i].parent != number)
			return fail(check, i, "the parent is %u, not %u", nodes[i].parent, number);
		if (!check_node(check, i))
			return false;
		if (i > directory->first_child && strcmp(nodes[i - 1].name, nodes[i].name) >= 0)
			return fail(check, i, "not sorted after \"%s\"", nodes[i - 1].name);
		check->names[number] += S_ISDIR(nodes[i].mode);
	}
	return true;
}

/* The first directory in [number, end), or end. */
static uint32_t find_directory(const struct tree *tree, uint32_t number, uint32_t end)
{
	while (number < end && !S_ISDIR(tree->nodes[number].mode))
		number++;
	return number;
}

/* The directory whose run must follow that of `number`; TREE_ROOT after the last. Without recursion. */
static uint32_t next_directory(const struct tree *tree, uint32_t number)
{
	const struct tree_node *nodes = tree->nodes;
	uint32_t end = nodes[number].first_child + nodes[number].child_count;
	uint32_t next = nodes[number].child_count ? find_directory(tree, nodes[number].first_child, end) : end;

	while (next == end && number != TREE_ROOT) {
		const struct tree_node *parent = &nodes[nodes[number].parent];

		end = parent->first_child + parent->child_count;
		next = find_directory(tree, number + 1, end);
		number = nodes[number].parent;
	}
	return next == end ? TREE_ROOT : next;
}

static bool check_links(struct check *check)
{
	const struct tree_node *nodes = check->tree->nodes;
	uint32_t count = check->tree->node_count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t first = nodes[i].link_to;

		if (first > i)
			return fail(check, i, "a link to %u, which comes later", first);
		if (first != i && S_ISDIR(nodes[i].mode))
			return fail(check, i, "a hard link to a directory");
		if (first != i &&
		    (nodes[first].link_to != first || (nodes[first].mode & S_IFMT) != (nodes[i].mode & S_IFMT)))
			return fail(check, i, "a link to %u, which is a link itself or of another type", first);
		if (!S_ISDIR(nodes[i].mode))
			check->names[first]++;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t links = check->names[i] + (S_ISDIR(nodes[i].mode) ? 2 : 0);

		if (nodes[i].link_to == i && nodes[i].links != links)
			return fail(check, i, "%u links, but %u in the tree", nodes[i].links, links);
	}
	return true;
}

static int compare_hashes(const void *one, const void *other)
{
	uint32_t first = (*(const struct tree_xattr_set *const *)one)->hash;
	uint32_t second = (*(const struct tree_xattr_set *const *)other)->hash;

	return first < second ? -1 : first > second;
}

static bool sets_are_equal(const struct tree_xattr_set *one, const struct tree_xattr_set *other)
{
	if (one->count != other->count)
		return false;
	for (uint32_t i = 0; i < one->count; i++)
		if (strcmp(one->list[i].name, other->list[i].name) ||
		    one->list[i].value_bytes != other->list[i].value_bytes ||
		    memcmp(one->list[i].value, other->list[i].value, one->list[i].value_bytes))
			return false;
	return true;
}

static bool check_xattr_sets(const struct check *check)
{
	const struct tree *tree = check->tree;
	SCOPE_FREE const struct tree_xattr_set **by_hash =
		malloc(((size_t)tree->xattr_set_count + 1) * sizeof(*by_hash));

	if (!by_hash)
		return fail(check, TREE_ROOT, "no memory to check");
	for (uint32_t i = 0; i < tree->xattr_set_count; i++) {
		const struct tree_xattr_set *set = &tree->xattr_sets[i];

		if (!set->count != (i == TREE_NO_XATTRS))
			return fail(check, TREE_ROOT, "xattr set %u has %u", i, set->count);
		for (uint32_t k = 1; k < set->count; k++)
			if (strcmp(set->list[k - 1].name, set->list[k].name) >= 0)
				return fail(check, TREE_ROOT, "xattr set %u is not sorted at %s", i, set->list[k].name);
		by_hash[i] = set;
	}
	qsort(by_hash, tree->xattr_set_count, sizeof(*by_hash), compare_hashes);
	for (uint32_t i = 0; i < tree->xattr_set_count; i++)
		for (uint32_t k = i + 1; k < tree->xattr_set_count && by_hash[k]->hash == by_hash[i]->hash; k++)
			if (sets_are_equal(by_hash[i], by_hash[k]))
				return fail(check, TREE_ROOT, "xattr sets %td and %td are equal",
				            by_hash[i] - tree->xattr_sets, by_hash[k] - tree->xattr_sets);
	return true;
}

bool tree_check(const struct tree *tree, char *why, size_t why_bytes)
{
	struct check check = { .tree = tree, .next = 1, .why = why, .why_bytes = why_bytes };
	uint32_t number = TREE_ROOT;

	if (!tree->node_count || !S_ISDIR(tree->nodes[TREE_ROOT].mode) || tree->nodes[TREE_ROOT].parent != TREE_ROOT)
		return fail(&check, TREE_ROOT, "the root is not a directory that is its own parent");
	if (!tree->origin_count)
		return fail(&check, TREE_ROOT, "there is no origin");
	if (!tree->xattr_set_count)
		return fail(&check, TREE_ROOT, "there is no empty xattr set");
	SCOPE_FREE uint32_t *names = calloc(tree->node_count, sizeof(*names));

	if (!names)
		return fail(&check, TREE_ROOT, "no memory to check");
	check.names = names;
	if (!check_node(&check, TREE_ROOT))
		return false;
	do {
		if (!check_run(&check, number))
			return false;
		number = next_directory(tree, number);
	} while (number != TREE_ROOT);
	if (check.next != tree->node_count)
		return fail(&check, check.next, "%u nodes are in no directory", tree->node_count - check.next);
	return check_links(&check) && check_xattr_sets(&check);
}
