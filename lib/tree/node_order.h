/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings nodes into another order, of which there may be ten million. */
#pragma once

#include "tree/tree.h"

#define NODE_ORDER_NONE UINT32_MAX

/*
 * Place i of the list gets what is at order[i] now; what is at no place of it goes. places: by node, its place, or
 * NODE_ORDER_NONE. Of `count` nodes order_count stay, and of the memory as much as they need. order is used up. The
 * list may be another one afterwards.
 */
struct tree_node *node_order_apply(struct tree_node *nodes, uint32_t count, uint32_t *order, uint32_t order_count,
                                   const uint32_t *places);
