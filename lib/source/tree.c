/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/tree.h"

#include "source/path_text.h"

static struct ascent step(const void *context, uint32_t number)
{
	const struct tree_node *node = &((const struct tree *)context)->nodes[number];

	return (struct ascent){ node->name, node->name_bytes, node->parent };
}

void tree_destroy(struct tree *tree)
{
	if (!tree)
		return;
	arena_destroy(&tree->memory);
	free(tree->nodes);
	free(tree->xattr_sets);
	free(tree->root_path);
	free(tree);
}

char *tree_path(const struct tree *tree, uint32_t node)
{
	return path_text(tree->root_path, step, tree, node, NULL);
}
