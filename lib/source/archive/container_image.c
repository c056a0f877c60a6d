// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/archive/container_image.h"

#include <stdbool.h>
#include <string.h>

static const struct tree_node *child_called(const struct tree *tree, const struct tree_node *directory,
                                            const char *name)
{
	for (uint32_t n = 0; n < directory->child_count; n++)
		if (strcmp(tree->nodes[directory->first_child + n].name, name) == 0)
			return &tree->nodes[directory->first_child + n];
	return NULL;
}

/* NAME.tar in the root, as podman and skopeo have layers, or NAME/layer.tar, as docker had them. */
static bool has_layer(const struct tree *tree)
{
	const struct tree_node *root = &tree->nodes[TREE_ROOT];

	for (uint32_t n = 0; n < root->child_count; n++) {
		const struct tree_node *child = &tree->nodes[root->first_child + n];

		if (strstr(child->name, ".tar") || child_called(tree, child, "layer.tar"))
			return true;
	}
	return false;
}

const char *container_image_transport(const struct tree *tree)
{
	const struct tree_node *root = &tree->nodes[TREE_ROOT];
	bool is_oci = child_called(tree, root, "oci-layout") && child_called(tree, root, "index.json");

	/* docker save of version 25 and later writes both; skopeo reads either. */
	if (child_called(tree, root, "manifest.json") && (is_oci || has_layer(tree)))
		return "docker-archive";
	return is_oci ? "oci-archive" : NULL;
}
