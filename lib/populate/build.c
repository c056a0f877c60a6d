// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/build.h"

errcode_t build_node_problem(const struct build *build, struct problem *problem, uint32_t node, errcode_t error,
                             const char *action)
{
	SCOPE_FREE char *path = tree_path(build->tree, node);

	return problem_set(problem, error, path, action);
}

uint32_t build_first_directory(const struct build *build, uint32_t node)
{
	uint32_t low = 0, high = build->directory_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (build->directories[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
