/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes that few files of a tree have. They are stored in a list of their own, and a node has one index for all of
 * them. A tree without such files has no list.
 */
#pragma once

#include "tree/tree.h"
#include "tree/verity.h"

struct tree_time {
	int64_t seconds;
	uint32_t nanoseconds;
	bool is_known; /* if not, the other members are 0 */
};

/* Parts of a regular file that read as zeros and have blocks: those that fallocate(2) gave it and nobody wrote. */
struct tree_unwritten {
	uint32_t count;
	struct tree_segment segments[]; /* ascending, apart from its data; also after the end of the file */
};

struct tree_detail {
	struct tree_time atime, ctime, crtime; /* access, inode change, creation */
	uint32_t project;                      /* project id */
	uint32_t inode_number;                 /* the inode number to keep; 0: any. In the image being changed, or
	                                          in a new one, since what encrypts the file depends on it */
	uint32_t generation;                   /* i_generation of that inode */
	const struct tree_verity *verity; /* regular files: in the tree's memory; NULL: not protected by fs-verity */
	const struct tree_unwritten *unwritten; /* in the tree's memory; NULL: there are none */
	bool is_unloaded; /* a directory of that image whose entries have not been read: child_count is 0 */
};

/* The defaults, for nodes without details. */
extern const struct tree_detail tree_no_detail;

/* The node's details. The pointer is valid until the next tree_add_detail(). */
static inline const struct tree_detail *tree_detail(const struct tree *tree, const struct tree_node *node)
{
	return node->detail ? &tree->details[node->detail] : &tree_no_detail;
}

/*
 * A copy in the tree's memory, with the signature; that of the last detail if it is equal. The digest counts only where
 * there is one, and so on. One thread at a time. NULL: no memory.
 */
const struct tree_verity *tree_keep_verity(struct tree *tree, const struct tree_verity *verity);

/*
 * Returns an index for tree_node.detail, 0 if the detail holds only defaults. The node need not be in the tree yet. All
 * names of a file share one index, and so do successive equal details. So never change a detail: give the node another
 * one. One thread at a time. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t tree_add_detail(struct tree *tree, const struct tree_detail *detail, uint32_t *number);
