/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/holes.h"

#include <errno.h>
#include <stdlib.h>

#include "contents/zero_detection.h"
#include "support/bits.h"

/* A bit for each node whose contents are written. */
static uint64_t *written_nodes(const struct update_plan *plan)
{
	uint64_t *nodes = calloc(bits_words(plan->tree->node_count), sizeof(*nodes));

	for (size_t i = 0; nodes && i < plan->count; i++)
		if (plan->actions[i].verb == UPDATE_CREATE || plan->actions[i].verb == UPDATE_REPLACE)
			bits_set(nodes, plan->actions[i].node);
	return nodes;
}

errcode_t holes_find(const struct update_options *options, struct update_plan *plan, const struct volume *volume,
                     struct pool *pool, struct problem *problem)
{
	struct zero_detection zeros = {
		.tree = plan->tree,
		.format = &volume->format,
		.least_hole_bytes = ZERO_DETECTION_LEAST_HOLE_BYTES,
		.image = options->image,
		.pool = pool,
		.readers = pool,
		.progress = options->progress,
		.problem = problem,
	};

	if (options->zeros_of_source)
		return 0;
	SCOPE_FREE uint64_t *nodes = written_nodes(plan);

	return nodes ? zero_detection_search_long(&zeros, nodes) : ENOMEM;
}
