/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees written as text, one file a line:
 *	KIND[UID] PATH [OTHER] [XATTR=VALUE]...
 * KIND: d directory, i implied directory, f file (of UID bytes), e empty file, s symlink to OTHER, h further name of
 * the file whose line has the path OTHER, c character device 5/UID, w character device 0/0. The root is "."; it is
 * "d0 ." unless there is a line for it. Parents have lines of their own; the order of lines does not matter, except
 * that of a hard link after its file.
 */
#pragma once

#include "tree/tree.h"

#define TEXT_TREE_PATH_BYTES 200

/* The tree of a text, checked; its origin has this path. */
struct tree *text_tree(const char *origin, const char *text);

/*
 * The text of a tree, in its own order, xattrs by name; the caller frees it. A hard link's OTHER is the first name of
 * its file.
 */
char *tree_text(const struct tree *tree);

/* Checks the tree and compares its text. */
void text_tree_expect(const struct tree *tree, const char *text);

/* qsort's comparison of paths below the root ("a/b"): the order of nodes that tree/tree.h promises. */
int text_tree_compare_paths(const char *one, const char *other);
