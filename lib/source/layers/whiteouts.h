/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How one layer says what is gone of those below it: whiteouts and opaque directories (see source/layers/merge.h). */
#pragma once

#include "source/layers/merge.h"
#include "source/tree/xattr_table.h"

#define WHITEOUT_PREFIX_BYTES 4u /* of ".wh." */

struct whiteouts {
	struct tree *tree;
	enum whiteout_form form;
	uint8_t *meanings; /* overlayfs: what each of the tree's xattr sets says; else NULL */
};

/* Both may be called for a zeroed one. ENOMEM. */
MUST_CHECK errcode_t whiteouts_read(struct whiteouts *whiteouts, struct tree *tree, enum whiteout_form form);
void whiteouts_free(struct whiteouts *whiteouts);

/* Where among its directory's children, which are sorted, the names that begin with ".wh." stand. */
struct whiteout_range {
	uint32_t start, end;
	uint32_t own_start, own_end; /* of these: ".wh..wh.", which name nothing to remove */
};

struct whiteout_range whiteouts_find(const struct whiteouts *whiteouts, uint32_t directory);

/* The node itself is a whiteout of its own name. */
bool whiteouts_is_whiteout(const struct whiteouts *whiteouts, uint32_t node);

/* Nothing of the layers below shows in this directory. */
bool whiteouts_is_opaque(const struct whiteouts *whiteouts, uint32_t directory);

/*
 * The entry of a directory with this name, unless it is a whiteout; TREE_ROOT: there is none. Of an
 * archive those members count that come before one (tree_node.order); UINT32_MAX: all do. *hides_below becomes true if
 * nothing of the layers below shows under that name, whether or not this layer has it.
 */
uint32_t whiteouts_look_up(const struct whiteouts *whiteouts, uint32_t directory, const char *name, uint32_t before,
                       bool *hides_below);

/* EINVAL for a marker ".wh.NAME" (one of whiteouts_find()) where NAME cannot be a name; the problem says which. */
MUST_CHECK errcode_t whiteouts_check_marker(const struct whiteouts *whiteouts, uint32_t node, struct problem *problem);

/* ENOTSUP for a file that is whole only in a mount of its overlay; the problem says why. */
MUST_CHECK errcode_t whiteouts_check_file(const struct whiteouts *whiteouts, uint32_t node, struct problem *problem);

/*
 * Puts one of the tree's xattr sets into a table, without what overlayfs keeps for itself; with is_opaque, with the
 * xattr that makes a directory opaque. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t whiteouts_intern_xattrs(const struct whiteouts *whiteouts, uint32_t set, bool is_opaque,
                                             struct xattr_table *table, struct xattr_table_memory *last,
                                             uint32_t *number);
