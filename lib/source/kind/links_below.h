/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the merge of sources: a source's hard links to files of lower sources, and the order in which its names came. An
 * archive that is unpacked over other files may link to files that are already there.
 *
 * Until sources are merged such a link is a regular file of an origin of its own, whose contents number it.
 */
#pragma once

#include "tree/tree.h"

struct link_below {
	const char *target; /* a path from the root; in the tree's memory */
	uint32_t order;     /* names of a lower order came before it */

	/* The target's layer and node, only for the merge (source/layers/whiteouts.h): */
	uint32_t layer, node;
};

/* Zero-initialise. */
struct links_below {
	uint32_t origin; /* the one that such links have in their tree; 0: there are none */
	struct link_below *list;
	size_t count, capacity;
	uint32_t *order; /* by node: how many names came before its own; NULL: all came at once */
};

void links_below_destroy(struct links_below *links);

/* Makes node, which has no name yet, such a link. source is the path for the origin; target is copied. ENOMEM. */
MUST_CHECK errcode_t links_below_add(struct links_below *links, struct tree *tree, const char *source,
                                     const char *target, uint32_t order, struct tree_node *node);

/* Returns the node's link; NULL: the node is not such a link. */
struct link_below *links_below_find(const struct links_below *links, const struct tree_node *node);
