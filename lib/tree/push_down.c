/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/push_down.h"

#include <errno.h>

#include "tree/contents.h"

/* Moves on to the next name of the path; returns how long it is, 0 at the path's end. */
static size_t next_name(const char **path)
{
	*path += strspn(*path, "/");
	return strcspn(*path, "/");
}

static uint32_t count_names(const char *path)
{
	uint32_t count = 0;

	for (size_t bytes; (bytes = next_name(&path)); path += bytes)
		count++;
	return count;
}

/* References of a node to others change with their numbers. */
static void shift(struct tree_node *node, uint32_t by)
{
	node->parent += by;
	node->link_to += by;
	if (node->child_count)
		node->first_child += by;
}

/* The directory above, whose only child has the next number. */
static struct tree_node directory_above(const struct tree_node *child, uint32_t number)
{
	return (struct tree_node){
		.name = "",
		.mode = S_IFDIR | 0755,
		.is_implied = true,
		.has_only_whiteouts = child->has_only_whiteouts,
		.mtime_seconds = child->mtime_seconds,
		.mtime_nanoseconds = child->mtime_nanoseconds,
		.origin = child->origin,
		.parent = number ? number - 1 : TREE_ROOT,
		.first_child = number + 1,
		.child_count = 1,
		.link_to = number,
		.links = 3,
	};
}

static errcode_t name_nodes(struct tree *tree, const char *path)
{
	uint32_t number = TREE_ROOT;

	for (size_t bytes; (bytes = next_name(&path)); path += bytes) {
		struct tree_node *node = &tree->nodes[++number];

		if (bytes > UINT8_MAX)
			return ENAMETOOLONG;
		node->name = arena_copy_string(&tree->memory, path, bytes);
		node->name_bytes = (uint8_t)bytes;
		if (!node->name)
			return ENOMEM;
	}
	return 0;
}

errcode_t tree_push_down(struct tree *tree, const char *path)
{
	const uint32_t names = count_names(path), count = tree->node_count;
	errcode_t error = 0;

	if (count > UINT32_MAX - names)
		return EOVERFLOW;
	/* Files of the host may be found by their place in the tree. */
	for (uint32_t number = 0; !error && number < count; number++)
		if (S_ISREG(tree->nodes[number].mode) && !tree_node_is_link(tree, number))
			error = tree_fix_contents(tree, number);
	struct tree_node *nodes = error ? NULL : realloc(tree->nodes, ((size_t)count + names) * sizeof(*nodes));

	if (!nodes)
		return error ? error : ENOMEM;
	memmove(nodes + names, nodes, count * sizeof(*nodes));
	tree->nodes = nodes;
	tree->node_count = count + names;
	for (uint32_t number = names; number < tree->node_count; number++)
		shift(&nodes[number], names);
	nodes[names].parent = names - 1;
	for (uint32_t number = names; number--;)
		nodes[number] = directory_above(&nodes[number + 1], number);
	return name_nodes(tree, path);
}
