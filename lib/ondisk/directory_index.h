/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The index of a hashed directory: a root in block 0, up to two levels of nodes, then the leaves. Of this
 * folder only; see directory.h for what callers use.
 */
#pragma once

#include "ondisk/directory.h"

struct directory_leaf {
	uint32_t first; /* its first entry, counted in hash order */
	uint32_t hash;  /* that entry's hash; bit 0 set: the leaf before this one ends with the same hash */
};

#define DIRECTORY_INDEX_MAX_DEPTHS 3 /* the root's and two below it */

/* All index blocks precede the leaves, depth by depth, so that a block's number follows from the counts. */
struct directory_index {
	uint32_t depths;                            /* dx_root_info.indirect_levels + 1 */
	uint32_t nodes[DIRECTORY_INDEX_MAX_DEPTHS]; /* how many at each depth; the root is one */
	uint32_t blocks;                            /* their sum: the first leaf's block number */
};

/* The smallest index for so many leaves. EFBIG: more than the feature set allows. */
MUST_CHECK errcode_t directory_index_shape(const struct ondisk_format *format, uint32_t leaf_count,
                                           struct directory_index *index);

/* Writes index->blocks blocks. */
void directory_index_build(const struct ondisk_format *format, const struct directory_index *index,
                           const struct directory_leaf *leaves, uint32_t leaf_count, uint32_t ino, uint32_t parent_ino,
                           uint32_t inode_seed, uint8_t *bytes);
