/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings nodes into another order, of which there may be ten million. */
#pragma once

#include "tree/tree.h"

#define NODE_ORDER_NONE UINT32_MAX

/*
 * Moves the node at order[i] to place i of the list; nodes that order does not name are removed. places: by node, its
 * place, or NODE_ORDER_NONE. order_count of `count` nodes stay, and the list's memory is reduced to them. order is
 * used up. The list may be another one afterwards.
 */
struct tree_node *node_order_apply(struct tree_node *nodes, uint32_t count, uint32_t *order, uint32_t order_count,
                                   const uint32_t *places);
