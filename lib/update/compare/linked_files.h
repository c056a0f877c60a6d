/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the image that an archive's hard links refer to. */
#pragma once

#include "image/volume.h"
#include "source/sources.h"
#include "tree/details.h"

struct linked_files {
	const struct volume *volume;
	const char *base; /* the path in the image that the sources are laid over */
	struct source_base functions;
};

/* Sets the functions; their context is files. */
void linked_files_init(struct linked_files *files, const struct volume *volume, const char *base);

/* Returns the inode of the image that the node is a further name of; 0 if it is a file of a source. */
static inline uint32_t linked_inode(const struct tree *tree, uint32_t node)
{
	return tree_detail(tree, &tree->nodes[node])->inode_number;
}
