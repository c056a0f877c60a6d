/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a tree of files that come in any order, by their paths: members of an archive. A path that comes again
 * replaces what was there, whatever its type; only directories keep what is in them when they come again.
 *
 * Paths: a leading "/", "." components and repeated or trailing slashes are dropped. ".." is refused, and so is a
 * path below something that is not a directory: what a symlink leads to is for the system that mounts the image.
 * Missing directories are made, with mode 0755, owner 0:0 and the modification time of the file that needed them.
 */
#pragma once

#include "tree/source_limits.h"
#include "tree/exclude.h"
#include "tree/tree.h"
#include "support/run/pool.h"

struct tree_builder;

/*
 * Names are copied into the tree's memory, which the nodes' targets and maps must be in already. What exclude (may
 * be NULL) matches can be linked to, but does not get into the tree. counts may be NULL.
 */
MUST_CHECK errcode_t tree_builder_create(struct tree *tree, const struct exclude *exclude, struct source_counts *counts,
                                         struct tree_builder **ret);
void tree_builder_destroy(struct tree_builder *builder);

/*
 * A file is about to be put at path: asks for the memory that this takes, so that nobody waits for it. In a directory
 * of millions of names that wait is a tenth of what reading an archive takes.
 */
void tree_builder_expect(const struct tree_builder *builder, const char *path);

/*
 * Puts a file at path. Takes node's type, mode, owner, times, xattrs, detail, size, origin and the type's own fields.
 * EINVAL, ENOTDIR, ENAMETOOLONG, EOVERFLOW (2^32 files): tree_builder_reason() says more. ENOMEM; EDQUOT:
 * source_counts_problem() says more.
 */
MUST_CHECK errcode_t tree_builder_add(struct tree_builder *builder, const char *path, const struct tree_node *node);

/*
 * Returns the file at path, or NULL. Only the fields that tree_builder_add() takes are valid, until the next call.
 */
const struct tree_node *tree_builder_find(struct tree_builder *builder, const char *path);

/*
 * Puts a further name at path for the file that is at target now; the two stay one file even if one of the names is
 * replaced. Nothing happens if they are one file already. *file is that file, for new contents: it lasts until the
 * next call. Errors as above, ENOENT where nothing is at target, EISDIR where a directory is.
 */
MUST_CHECK errcode_t tree_builder_link(struct tree_builder *builder, const char *path, const char *target,
                                       struct tree_node **file);

/* Why the last call failed, in words that follow the path; NULL where the error says it all. */
const char *tree_builder_reason(const struct tree_builder *builder);

/* How many names came before the next new one, with those that have been replaced. */
uint32_t tree_builder_order(const struct tree_builder *builder);

/*
 * Gives the tree its nodes in the order that tree/tree.h promises. order may be NULL: gets by node how many names came
 * before its own; the caller frees it, NULL after a failure. Once; ENOMEM.
 */
MUST_CHECK errcode_t tree_builder_finish(struct tree_builder *builder, struct pool *pool, uint32_t **order,
                                         struct problem *problem);
