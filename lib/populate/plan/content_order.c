/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/content_order.h"

#include <errno.h>
#include <sys/stat.h>

static bool is_file(const struct tree *tree, uint32_t node)
{
	return S_ISREG(tree->nodes[node].mode) && !tree_node_is_link(tree, node);
}

static uint32_t source_of_node(const struct tree *tree, uint32_t node)
{
	return tree->origins[tree->nodes[node].origin].source;
}

/* Returns one more than the highest number of a source. */
static uint32_t source_count(const struct tree *tree)
{
	uint32_t count = 0;

	for (uint32_t origin = 0; origin < tree->origin_count; origin++)
		if (tree->origins[origin].source >= count)
			count = tree->origins[origin].source + 1;
	return count;
}

/* Sorts by counting: next[n] becomes the index of the first file of source n. */
errcode_t content_order_make(struct plan *plan)
{
	const struct tree *tree = plan->source->tree;
	uint32_t sources = source_count(tree), count = 0;

	if (plan->options->layout != LAYOUT_LAYERS || plan->content_order)
		return 0;
	SCOPE_FREE uint32_t *next = calloc(sources + 1, sizeof(*next));

	if (!next)
		return ENOMEM;
	for (uint32_t node = 0; node < tree->node_count; node++)
		if (is_file(tree, node))
			next[source_of_node(tree, node)]++;
	for (uint32_t source = 0; source < sources; source++) {
		uint32_t files = next[source];

		next[source] = count;
		count += files;
	}
	plan->content_order = calloc(count ? count : 1, sizeof(*plan->content_order));
	if (!plan->content_order)
		return ENOMEM;
	for (uint32_t node = 0; node < tree->node_count; node++)
		if (is_file(tree, node))
			plan->content_order[next[source_of_node(tree, node)]++] = node;
	plan->content_count = count;
	return 0;
}

void content_order_release(struct plan *plan)
{
	free(TAKE(plan->content_order));
	plan->content_count = 0;
}
