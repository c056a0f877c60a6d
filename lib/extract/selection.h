/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which nodes of a tree are written out: all, or those below the paths that the user gave; and never one whose name
 * could lead elsewhere: "", ".", "..", or with a slash or a NUL in it. An image can hold any bytes as names.
 */
#pragma once

#include <sys/stat.h>

#include "tree/tree.h"

enum selection_mark {
	SELECTION_OUTSIDE,
	SELECTION_ABOVE, /* a directory on the way to what was asked for */
	SELECTION_IN,
	SELECTION_REFUSED, /* its name, or that of a directory that it is in */
};

/* Zero-initialise. Once made it does not change: any thread. */
struct selection {
	const struct tree *tree;
	uint8_t *marks;        /* by node: enum selection_mark */
	uint32_t *first_names; /* by a file's first node: the first of its names that is selected; NULL: all are */
	uint32_t *refused;     /* nodes whose own names are refused, in their order */
	size_t refused_count, refused_capacity;
	uint64_t files, data_bytes; /* that are selected: nodes, and bytes of their contents */
};

/*
 * paths: from the root, of which "" is the root; a leading "./" or "/" and a trailing "/" are allowed. Without any, all
 * is selected. is_missing[i] becomes true where the tree has nothing at paths[i]. ENOMEM.
 */
MUST_CHECK errcode_t selection_make(struct selection *selection, const struct tree *tree, char *const *paths,
                                    size_t path_count, bool *is_missing);
void selection_free(struct selection *selection);

static inline bool selection_has(const struct selection *selection, uint32_t node)
{
	return selection->marks[node] == SELECTION_IN;
}

/* The first selected name of a selected node's file: the node itself, or what it is a hard link to. */
static inline uint32_t selection_first_name(const struct selection *selection, uint32_t node)
{
	uint32_t first = selection->tree->nodes[node].link_to;

	return selection->first_names && !S_ISDIR(selection->tree->nodes[node].mode) ? selection->first_names[first] :
	                                                                               first;
}

/* Can a file be made under this name in a directory, and nowhere else? */
bool selection_name_is_safe(const char *name, size_t bytes);

/* Bytes of a regular file's contents that are no hole. */
uint64_t selection_data_bytes(const struct tree_node *node);
