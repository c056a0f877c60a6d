/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/build/protected.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static errcode_t refuse(const struct protection *protection, uint32_t node, errcode_t error, struct problem *problem)
{
	SCOPE_FREE char *reason = protection_reason(protection, node, error);
	SCOPE_FREE char *path = tree_path(protection->tree, node);

	return problem_set_reason(problem, error, path, "cannot be protected by fs-verity", "%s",
	                          reason ? reason : error_message(error));
}

errcode_t protected_nodes_find(struct protection *protection, struct tree *tree, const struct ondisk_format *format,
                               const char *image, struct problem *problem)
{
	errcode_t error = 0;

	*protection = (struct protection){ .tree = tree, .format = format, .image = image };
	for (uint32_t node = 0; tree->details && !error && node < tree->node_count; node++) {
		bool is_protected;

		if (!S_ISREG(tree->nodes[node].mode) || tree_node_is_link(tree, node))
			continue;
		error = protection_decide(protection, node, &is_protected);
		if (error)
			return refuse(protection, node, error, problem);
		if (is_protected)
			error = protection_add(protection, node);
	}
	return error;
}

void protected_nodes_runs(const struct protection *protection, const struct ondisk_format *format,
                          const struct tree_node *node, struct block_runs *runs)
{
	uint32_t number = (uint32_t)(node - protection->tree->nodes);

	block_runs_start(runs, format, node);
	if (protected_nodes_has(protection, number)) {
		const struct verity_place place = protection_place(protection, number);

		block_runs_protect(runs, &place);
	}
}
