// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/plan/casefold.h"

#include <errno.h>
#include <sys/stat.h>

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

		if (!tree_find_path(tree, *path, &node) || !S_ISDIR(tree->nodes[node].mode))
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
