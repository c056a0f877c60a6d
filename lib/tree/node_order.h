/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reorders nodes, of which there may be ten million. */
#pragma once

#include "tree/tree.h"

#define NODE_ORDER_NONE UINT32_MAX

/*
 * Moves the node at order[i] to index i of the list, and removes the nodes that order does not name. places: by node,
 * its new index, or NODE_ORDER_NONE. order_count of `count` nodes stay, and the list's memory is reduced to them.
 * Overwrites order. Returns the list, which may have moved.
 */
struct tree_node *node_order_apply(struct tree_node *nodes, uint32_t count, uint32_t *order, uint32_t order_count,
                                   const uint32_t *places);
