// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/plan/casefold.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool is_named(const struct tree_node *node, const char *name, size_t bytes)
{
	return node->name_bytes == bytes && memcmp(node->name, name, bytes) == 0;
}

/* The directory at a path below the root, with or without slashes around it. False: there is none. */
static bool find_directory(const struct tree *tree, const char *path, uint32_t *found)
{
	uint32_t node = TREE_ROOT;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t bytes = strcspn(path, "/");
		uint32_t child = tree->nodes[node].first_child, end = child + tree->nodes[node].child_count;

		while (child < end && !is_named(&tree->nodes[child], path, bytes))
			child++;
		if (child == end || !S_ISDIR(tree->nodes[child].mode))
			return false;
		node = child;
		path += bytes;
	}
	*found = node;
	return true;
}

errcode_t casefold_mark(struct build *build, struct problem *problem)
{
	const struct tree *tree = build->tree;
	char *const *path = build->options->casefolded;

	if (!path)
		return 0;
	if (!build->format.encoding)
		return problem_set_reason(problem, EINVAL, build->options->image, "cannot be case-insensitive",
		                          "the filesystem lacks the feature casefold");
	for (; *path; path++) {
		uint32_t node;

		if (!find_directory(tree, *path, &node))
			return problem_set_reason(problem, ENOTDIR, *path, "cannot be case-insensitive",
			                          "the source has no such directory");
		build->placements[node].is_casefolded = true;
	}
	/* A directory comes before what is in it. */
	for (uint32_t node = 0; node < tree->node_count; node++)
		if (S_ISDIR(tree->nodes[node].mode) && build->placements[tree->nodes[node].parent].is_casefolded)
			build->placements[node].is_casefolded = true;
	return 0;
}
