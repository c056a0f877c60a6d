/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the blocks of one node from a range of the free space. Each layout decides the order of the nodes and the
 * ranges. */
#pragma once

#include "populate/build/plan.h"
#include "populate/plan/hidden_gaps.h"

/* True if the node has blocks that have no place yet; false for a further name of a file. */
bool node_is_unplaced(const struct plan *plan, uint32_t number);

/*
 * Places the node's blocks, and those of its map after them. list: memory that is used again for each node.
 * EXT2MB_ET_NO_SPACE: the node has no place, and keeps none of an earlier image either.
 */
MUST_CHECK errcode_t node_place(const struct plan *plan, struct pack_range *range, uint32_t number,
                                struct extent_list *list);

/* The same without the map's blocks, after the gaps that the file's blocks follow. */
MUST_CHECK errcode_t node_place_contents(const struct plan *plan, struct pack_range *range, uint32_t number,
                                         struct hidden_gaps *gaps, struct extent_list *list);

/* Places the map of a node that node_place_contents() has placed. */
MUST_CHECK errcode_t node_place_map(const struct plan *plan, struct pack_range *range, uint32_t number);

/* Moves on in a range that takes nothing as if the node were placed there, or so many clusters taken. */
MUST_CHECK errcode_t node_pass(const struct plan *plan, struct pack_range *range, uint32_t number,
                               struct extent_list *list);
MUST_CHECK errcode_t node_pass_clusters(const struct plan *plan, struct pack_range *range, uint64_t clusters);
