// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/layers/links_below.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/*
 * What one layer has at path, of its members that come before one; TREE_ROOT: nothing. *hides_below: nor do the
 * layers below show anything there.
 */
static uint32_t look_up(const struct whiteouts *layer, char *path, uint32_t before, bool *hides_below)
{
	uint32_t node = TREE_ROOT;
	char *name;

	while ((name = strsep(&path, "/"))) {
		if (!*name || !strcmp(name, "."))
			continue;
		if (!S_ISDIR(layer->tree->nodes[node].mode)) {
			*hides_below = true;
			return TREE_ROOT;
		}
		node = whiteouts_look_up(layer, node, name, before, hides_below);
		if (node == TREE_ROOT)
			break;
	}
	return node;
}

static errcode_t refuse(const struct whiteouts *layers, uint32_t layer, uint32_t link, errcode_t error,
                        const char *what, const char *who, struct problem *problem)
{
	const struct tree *tree = layers[layer].tree;
	SCOPE_FREE char *path = tree_path(tree, link);

	return problem_set_reason(problem, error, path, "cannot make a hard link", "%s: %s%s", tree->nodes[link].target,
	                          who, what);
}

static errcode_t resolve(struct whiteouts *layers, uint32_t top, uint32_t number, struct problem *problem)
{
	struct tree_node *link = &layers[top].tree->nodes[number];
	uint32_t layer = top + 1, before = link->below_order, found = TREE_ROOT;
	bool is_hidden = false;

	while (found == TREE_ROOT && !is_hidden && layer-- > 0) {
		SCOPE_FREE char *path = strdup(link->target);

		if (!path)
			return ENOMEM;
		found = look_up(&layers[layer], path, before, &is_hidden);
		before = UINT32_MAX;
	}
	if (found == TREE_ROOT && is_hidden)
		return refuse(layers, top, number, ENOENT, " hides it", layers[layer].tree->origins[0].path, problem);
	if (found == TREE_ROOT)
		return refuse(layers, top, number, ENOENT,
		              "nothing in the archive before it or in the sources below has that name", "", problem);
	if (S_ISDIR(layers[layer].tree->nodes[found].mode))
		return refuse(layers, top, number, EISDIR, error_message(EISDIR), "", problem);
	link->device.major = layer;
	link->device.minor = found;
	return 0;
}

void links_below_follow(const struct whiteouts *layers, uint32_t *layer, uint32_t *node)
{
	const struct tree_node *nodes = layers[*layer].tree->nodes;
	const struct tree_node *first = &nodes[nodes[*node].link_to];

	while (first->is_below) {
		*layer = first->device.major;
		*node = first->device.minor;
		nodes = layers[*layer].tree->nodes;
		first = &nodes[nodes[*node].link_to];
	}
}

/* Links lead down, to names whose own are resolved already. */
static errcode_t resolve_layer(struct whiteouts *layers, uint32_t top, struct problem *problem)
{
	const struct tree *tree = layers[top].tree;

	for (uint32_t number = 0; number < tree->node_count; number++) {
		uint32_t layer = top, node = number;

		if (!tree->nodes[number].is_below || tree_node_is_link(tree, number))
			continue;
		errcode_t error = resolve(layers, top, number, problem);

		if (error)
			return error;
		links_below_follow(layers, &layer, &node);
		struct tree *holder = layers[layer].tree;
		uint32_t first = holder->nodes[node].link_to;

		error = tree_fix_host_path(holder, first);
		if (error)
			return error;
		holder->nodes[first].links += tree->nodes[number].links;
	}
	return 0;
}

errcode_t links_below_resolve(struct whiteouts *layers, uint32_t count, struct problem *problem)
{
	for (uint32_t layer = 1; layer < count; layer++) {
		errcode_t error = resolve_layer(layers, layer, problem);

		if (error)
			return error;
	}
	return 0;
}
