// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/archive/container_image.h"

#include <stdbool.h>
#include <string.h>

static bool has_child(const struct tree *tree, uint32_t directory, const char *name)
{
	return tree_find(tree, directory, name, strlen(name)) != TREE_ROOT;
}

/* NAME.tar in the root, as podman and skopeo have layers, or NAME/layer.tar, as docker had them. */
static bool has_layer(const struct tree *tree)
{
	const struct tree_node *root = &tree->nodes[TREE_ROOT];

	for (uint32_t n = 0; n < root->child_count; n++) {
		uint32_t child = root->first_child + n;

		if (strstr(tree->nodes[child].name, ".tar") || has_child(tree, child, "layer.tar"))
			return true;
	}
	return false;
}

const char *container_image_transport(const struct tree *tree)
{
	bool is_oci = has_child(tree, TREE_ROOT, "oci-layout") && has_child(tree, TREE_ROOT, "index.json");

	/* docker save of version 25 and later writes both; skopeo reads either. */
	if (has_child(tree, TREE_ROOT, "manifest.json") && (is_oci || has_layer(tree)))
		return "docker-archive";
	return is_oci ? "oci-archive" : NULL;
}
