/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/build/protected.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "populate/build/protection.h"

static errcode_t refuse(const struct protected_nodes *nodes, uint32_t node, errcode_t error, struct problem *problem)
{
	SCOPE_FREE char *reason = protection_reason(&nodes->plan, node, error);
	SCOPE_FREE char *path = tree_path(nodes->scanned.tree, node);

	return problem_set_reason(problem, error, path, "cannot be protected by fs-verity", "%s",
	                          reason ? reason : error_message(error));
}

static errcode_t decide(struct protected_nodes *nodes, struct problem *problem)
{
	const struct tree *tree = nodes->scanned.tree;
	errcode_t error = 0;

	for (uint32_t node = 0; !error && node < tree->node_count; node++) {
		bool is_protected;

		if (!S_ISREG(tree->nodes[node].mode) || tree_node_is_link(tree, node))
			continue;
		error = protection_decide(&nodes->plan, node, &is_protected);
		nodes->plan.placements[node].is_protected = !error && is_protected;
		if (error)
			return refuse(nodes, node, error, problem);
	}
	return protection_list(&nodes->plan);
}

static bool has_any(const struct tree *tree)
{
	for (uint32_t node = 0; tree->details && node < tree->node_count; node++)
		if (tree_detail(tree, &tree->nodes[node])->verity)
			return true;
	return false;
}

errcode_t protected_nodes_find(struct protected_nodes *nodes, struct tree *tree, const struct ondisk_format *format,
                               const char *image, struct problem *problem)
{
	/* The size of blocks is given, by the image. */
	*nodes = (struct protected_nodes){ .options = { .image = image, .block_size_given = true },
		                           .scanned.tree = tree };
	nodes->plan = (struct plan){ .options = &nodes->options, .source = &nodes->scanned, .format = *format };
	if (!has_any(tree))
		return 0;
	nodes->plan.placements = calloc(tree->node_count, sizeof(*nodes->plan.placements));
	return nodes->plan.placements ? decide(nodes, problem) : ENOMEM;
}

void protected_nodes_free(struct protected_nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->plan.protected_count; i++)
		if (nodes->plan.placements[nodes->plan.protected_files[i].node].has_extent_map)
			free(nodes->plan.placements[nodes->plan.protected_files[i].node].map);
	if (nodes->plan.placements)
		protection_release(&nodes->plan);
	free(TAKE(nodes->plan.placements));
}

void protected_nodes_runs(const struct protected_nodes *nodes, const struct ondisk_format *format,
                          const struct tree_node *node, struct block_runs *runs)
{
	uint32_t number = (uint32_t)(node - nodes->scanned.tree->nodes);

	if (protected_nodes_has(nodes, number))
		block_runs_start_counted(runs, &nodes->plan, number);
	else
		block_runs_start(runs, format, node);
}

errcode_t protected_nodes_place(struct protected_nodes *nodes, uint32_t node, const struct extent_list *extents,
                                uint32_t slices)
{
	struct placement *placement = &nodes->plan.placements[node];

	if (placement->has_extent_map)
		free(placement->map);
	placement->map = extent_map_create(extents, 0);
	placement->has_extent_map = placement->map != NULL;
	atomic_init(&protection_find(&nodes->plan, node)->pending_slices, slices);
	return placement->map ? 0 : ENOMEM;
}
