/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack_options.h"

#include <errno.h>

#include "tree/details.h"
#include "tree/entry_numbers.h"
#include "tree/xattr_table.h"

static void drop_xattrs(struct tree *tree)
{
	for (uint32_t i = 0; i < tree->node_count; i++) {
		tree->nodes[i].xattrs = TREE_NO_XATTRS;
		tree->nodes[i].has_lost_xattr = false;
	}
	tree->xattr_set_count = 1;
}

static void drop_flags(struct tree *tree)
{
	for (uint32_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].flags = 0;
}

static void drop_times(struct tree *tree)
{
	if (!tree->detail_count)
		return;
	for (uint32_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].detail = 0;
	tree->detail_count = tree->detail_capacity = 0;
	free(TAKE(tree->details));
}

static errcode_t find_excluded(const struct tree *tree, const struct exclude *exclude, bool *is_excluded)
{
	for (uint32_t i = 1; i < tree->node_count; i++) {
		const struct tree_node *node = &tree->nodes[i];

		if (is_excluded[node->parent]) {
			is_excluded[i] = true;
			continue;
		}
		SCOPE_FREE char *path = path_text("", tree_ascend, tree, i, NULL);

		if (!path)
			return ENOMEM;
		/* The path is matched without its first slash. */
		is_excluded[i] = exclude_matches(exclude, path + 1, S_ISDIR(node->mode));
	}
	return 0;
}

/* Nodes become the entries of which a tree is made: then what is left is numbered as if the rest had never been. */
static void make_entries(struct tree *tree, const bool *is_excluded)
{
	for (uint32_t i = 0; i < tree->node_count; i++) {
		struct tree_node *node = &tree->nodes[i];

		node->first_child = 0;
		node->child_count = is_excluded[i] ? ENTRY_EXCLUDED : 0;
		node->links = 0;
	}
	for (uint32_t i = 0; i < tree->node_count; i++)
		if (tree_node_is_link(tree, i))
			tree->nodes[tree->nodes[i].link_to].links = 1;
}

/* Gives each node that is left the place that its name had among all names. */
static void keep_order(struct links_below *below, uint32_t *order, uint32_t count)
{
	if (!below->order) {
		free(order);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		order[i] = below->order[order[i]];
	free(below->order);
	below->order = order;
}

static errcode_t exclude(struct tree *tree, struct links_below *below, const struct exclude *patterns,
                         struct pool *pool, struct problem *problem)
{
	uint32_t count = tree->node_count, *order;
	SCOPE_FREE bool *is_excluded = calloc(count, sizeof(*is_excluded));
	errcode_t error = is_excluded ? find_excluded(tree, patterns, is_excluded) : ENOMEM;

	if (error)
		return error;
	make_entries(tree, is_excluded);
	struct tree_node *entries = TAKE(tree->nodes);

	tree->node_count = 0;
	error = entries_number(tree, &entries, count, pool, &order, problem);
	free(entries);
	if (error)
		return error;
	keep_order(below, order, tree->node_count);
	return xattr_sets_unify(tree);
}

errcode_t pack_options_apply(struct tree *tree, struct links_below *below, const struct scan_options *options,
                             struct pool *pool, struct problem *problem)
{
	if (options->without_xattrs)
		drop_xattrs(tree);
	if (options->without_flags)
		drop_flags(tree);
	if (!options->asks_for_times)
		drop_times(tree);
	return options->exclude ? exclude(tree, below, options->exclude, pool, problem) : 0;
}
