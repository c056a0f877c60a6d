// SPDX-License-Identifier: GPL-2.0-or-later
/* Where in the tree that is being scanned something is. */
#include "source/host/directory_scan.h"

struct ascent scan_step(const void *tree, uint32_t number)
{
	const struct scan_directory *directory = &((const struct scan *)tree)->directories[number];

	return (struct ascent){ directory->name, directory->name_bytes, directory->parent };
}

char *scan_path(const struct scan *scan, uint32_t directory)
{
	return path_text(scan->root_path, scan_step, scan, directory, NULL);
}

errcode_t scan_problem(const struct scan *scan, uint32_t directory, const char *name, errcode_t error,
                       const char *action, struct problem *problem)
{
	SCOPE_FREE char *path = path_text(scan->root_path, scan_step, scan, directory, name);

	return problem_set(problem, error, path, action);
}
