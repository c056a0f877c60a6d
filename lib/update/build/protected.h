/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the tree that fs-verity protects, and that it protects in the image, too. The code that hashes them is
 * e2populate's (populate/data/protect.h), which reads of a plan only what is here.
 */
#pragma once

#include "populate/build/plan.h"
#include "populate/plan/block_runs.h"

struct protected_nodes {
	struct populate_options options;
	struct scanned scanned;
	struct plan plan; /* without placements: nothing is protected */
};

/*
 * Finds those that the filesystem can hold. Errors for others that are asked for, not only inherited from a source:
 * ENOTSUP, E2BIG, EFBIG, and the problem says why. ENOMEM. The caller calls protected_nodes_free() in any case; tree,
 * format and image last until then.
 */
MUST_CHECK errcode_t protected_nodes_find(struct protected_nodes *nodes, struct tree *tree,
                                          const struct ondisk_format *format, const char *image,
                                          struct problem *problem);
void protected_nodes_free(struct protected_nodes *nodes);

static inline bool protected_nodes_has(const struct protected_nodes *nodes, uint32_t node)
{
	return nodes->plan.placements && nodes->plan.placements[node].is_protected;
}

/* A walk over the blocks of a regular file's contents, and of what protects it. */
void protected_nodes_runs(const struct protected_nodes *nodes, const struct ondisk_format *format,
                          const struct tree_node *node, struct block_runs *runs);

/*
 * Notes where a protected file lies, and how many slices of it are copied (0: it is copied as a whole), before it is
 * copied. ENOMEM.
 */
MUST_CHECK errcode_t protected_nodes_place(struct protected_nodes *nodes, uint32_t node,
                                           const struct extent_list *extents, uint32_t slices);
