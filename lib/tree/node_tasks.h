/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers share out a tree's nodes in tasks. */
#pragma once

#include "tree/tree.h"

/* Nodes first .. end-1. */
struct node_range {
	uint32_t first, end;
};

/* The part with a number, where the nodes are cut into parts of nodes_each. */
static inline struct node_range node_part(const struct tree *tree, uint32_t nodes_each, size_t number)
{
	uint32_t first = (uint32_t)number * nodes_each, left = tree->node_count - first;

	return (struct node_range){ first, first + (left < nodes_each ? left : nodes_each) };
}

/* The number of such parts. */
static inline size_t node_part_count(const struct tree *tree, uint32_t nodes_each)
{
	return ((size_t)tree->node_count + nodes_each - 1) / nodes_each;
}

/* Nodes of a task, as a rule. */
#define NODES_PER_TASK 4096u

static inline size_t node_task_count(const struct tree *tree)
{
	return node_part_count(tree, NODES_PER_TASK);
}

static inline struct node_range node_task(const struct tree *tree, size_t task)
{
	return node_part(tree, NODES_PER_TASK, task);
}
