/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes that few files of a tree have, stored beside the nodes: a node has one number for all of them. A tree
 * without such files has no list.
 */
#pragma once

#include "tree/tree.h"

struct tree_time {
	int64_t seconds;
	uint32_t nanoseconds;
	bool is_known; /* else the others are 0 */
};

struct tree_detail {
	struct tree_time atime, ctime, crtime; /* of access, of the last change of the inode, of its making */
	uint32_t project;                      /* an id */
	uint32_t inode_number;                 /* which the file has in the image that is changed; 0: it gets one */
	uint32_t generation;                   /* of that inode */
	bool is_unloaded; /* a directory of that image: what is in it has not been read, and child_count is 0 */
};

/* The values of a node without any. */
extern const struct tree_detail tree_no_detail;

/* The node's. It lasts until tree_add_detail(). */
static inline const struct tree_detail *tree_detail(const struct tree *tree, const struct tree_node *node)
{
	return node->detail ? &tree->details[node->detail] : &tree_no_detail;
}

/*
 * A number for tree_node.detail, also of a node that is not in the tree yet; 0 if there is nothing to be kept. All
 * names of a file have one number, and one that equals the last is shared, so details do not change: a node gets
 * another one. One thread at a time. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t tree_add_detail(struct tree *tree, const struct tree_detail *detail, uint32_t *number);
