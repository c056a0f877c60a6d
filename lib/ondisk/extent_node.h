/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading a node of an extent tree from untrusted bytes. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/cleanup.h"

#define EXTENT_TREE_MAX_DEPTH 5 /* the kernel reads no deeper tree */

struct extent_node {
	const uint8_t *entries; /* within the bytes that were given */
	unsigned int count;
	unsigned int depth; /* 0: a leaf; else the entries point to nodes whose depth is one less */
};

struct extent_node_leaf {
	uint32_t logical;
	uint32_t count; /* blocks: 1 to 32768; 0 is what damage can say */
	uint64_t physical;
	bool is_unwritten;
};

struct extent_node_index {
	uint32_t logical; /* nothing below lies before it */
	uint64_t block;   /* the node's */
};

/* False if the bytes are no node: the magic number, a depth above the largest, more entries than there is room for. */
MUST_CHECK bool extent_node_read(const void *bytes, size_t byte_count, struct extent_node *node);

/* Entry `index`, below count, of a leaf and of any other node. */
struct extent_node_leaf extent_node_leaf(const struct extent_node *node, unsigned int index);
struct extent_node_index extent_node_index(const struct extent_node *node, unsigned int index);
