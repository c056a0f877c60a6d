/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the image that hard links of an archive lead to. */
#pragma once

#include "image/volume.h"
#include "source/sources.h"
#include "tree/details.h"

struct linked_files {
	const struct volume *volume;
	const char *base; /* the path in the image over which the sources are laid */
	struct source_base functions;
};

/* Fills in the functions, whose context it is. */
void linked_files_init(struct linked_files *files, const struct volume *volume, const char *base);

/* The inode of the image that a node is nothing but a further name of; 0: it is a file of a source. */
static inline uint32_t linked_inode(const struct tree *tree, uint32_t node)
{
	return tree_detail(tree, &tree->nodes[node])->inode_number;
}
