/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The marks by which one layer says what is gone of those below it (see source/layers/merge.h). */
#ifndef SOURCE_MARKS_H
#define SOURCE_MARKS_H

#include "source/layers/merge.h"
#include "source/tree/xattr_table.h"

#define MARK_PREFIX_BYTES 4u /* of ".wh." */

struct marks {
	struct tree *tree;
	enum whiteouts form;
	uint8_t *meanings; /* overlayfs: what each of the tree's xattr sets says; else NULL */
};

/* Both may be called for a zeroed one. ENOMEM. */
MUST_CHECK errcode_t marks_read(struct marks *marks, struct tree *tree, enum whiteouts form);
void marks_free(struct marks *marks);

/* Where among its directory's children, which are sorted, the names that begin with ".wh." stand. */
struct marks_range {
	uint32_t start, end;
	uint32_t own_start, own_end; /* of these: ".wh..wh.", which name nothing to remove */
};

struct marks_range marks_find(const struct marks *marks, uint32_t directory);

/* The node itself is a whiteout of its own name. */
bool marks_is_whiteout(const struct marks *marks, uint32_t node);

/* Nothing of the layers below shows in this directory. */
bool marks_is_opaque(const struct marks *marks, uint32_t directory);

/*
 * The entry of a directory with this name, no whiteout; TREE_ROOT, which is nobody's entry, if there is none. Of an
 * archive those members count that come before one (tree_node.order); UINT32_MAX: all do. *hides_below becomes true if
 * nothing of the layers below shows under that name, whether or not this layer has it.
 */
uint32_t marks_look_up(const struct marks *marks, uint32_t directory, const char *name, uint32_t before,
                       bool *hides_below);

/* EINVAL for a marker ".wh.NAME" (one of marks_find()) where NAME is no name; the problem says which it is. */
MUST_CHECK errcode_t marks_check_marker(const struct marks *marks, uint32_t node, struct problem *problem);

/* ENOTSUP for a file that is whole only in a mount of its overlay; the problem says why. */
MUST_CHECK errcode_t marks_check_file(const struct marks *marks, uint32_t node, struct problem *problem);

/*
 * Puts one of the tree's xattr sets into a table, without what overlayfs keeps for itself; with is_opaque, with the
 * xattr that makes a directory opaque. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t marks_intern_xattrs(const struct marks *marks, uint32_t set, bool is_opaque,
                                         struct xattr_table *table, struct xattr_table_memory *last, uint32_t *number);

#endif
