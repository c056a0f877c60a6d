/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a tree from files that come in any order, by their paths: members of an archive. A path that comes again
 * replaces the earlier file, whatever its type; only a directory that comes again keeps its entries.
 *
 * Paths: the builder drops a leading "/", "." components and repeated or trailing slashes. It refuses ".." and paths
 * below a file that is not a directory: symlinks are resolved only by the system that mounts the image. It adds missing
 * directories with mode 0755, owner 0:0 and the modification time of the file that needed them.
 */
#pragma once

#include "tree/source_limits.h"
#include "tree/exclude.h"
#include "tree/tree.h"
#include "support/run/pool.h"

struct tree_builder;

/*
 * The builder copies names into the tree's memory; the nodes' targets and maps must already be there. Files that
 * exclude (may be NULL) matches do not get into the tree, but others can link to them. counts may be NULL.
 */
MUST_CHECK errcode_t tree_builder_create(struct tree *tree, const struct exclude *exclude, struct source_counts *counts,
                                         struct tree_builder **ret);
void tree_builder_destroy(struct tree_builder *builder);

/*
 * A file is about to be added at path: prefetches the memory that this touches. In a directory of millions of names,
 * waiting for that memory is a tenth of the time in which an archive is read.
 */
void tree_builder_expect(const struct tree_builder *builder, const char *path);

/*
 * Adds a file at path. Takes node's type, mode, owner, times, xattrs, detail, size, origin and the type's own fields.
 * EINVAL, ENOTDIR, ENAMETOOLONG, EOVERFLOW (2^32 files): tree_builder_reason() says more. ENOMEM; EDQUOT:
 * source_counts_problem() says more.
 */
MUST_CHECK errcode_t tree_builder_add(struct tree_builder *builder, const char *path, const struct tree_node *node);

/*
 * Returns the file at path, or NULL. Only the fields that tree_builder_add() takes are valid, until the next call.
 */
const struct tree_node *tree_builder_find(struct tree_builder *builder, const char *path);

/*
 * Adds path as a further name of the file that is at target now; the two stay one file even if one of the names is
 * replaced. Does nothing if they are one file already. *file is that file, for new contents, valid until the next call.
 * Errors as above; ENOENT: there is nothing at target; EISDIR: target is a directory.
 */
MUST_CHECK errcode_t tree_builder_link(struct tree_builder *builder, const char *path, const char *target,
                                       struct tree_node **file);

/* Why the last call failed, in words that follow the path; NULL: the error code says it all. */
const char *tree_builder_reason(const struct tree_builder *builder);

/* Did the last call replace a directory with names in it by another file, so that they are gone? */
bool tree_builder_has_dropped_names(const struct tree_builder *builder);

/* The number of names added so far, including replaced ones and the root. */
uint32_t tree_builder_order(const struct tree_builder *builder);

/*
 * Gives the tree its nodes in the order that tree/tree.h promises. *order (order may be NULL) gets, by node, how many
 * names came before its own; the caller frees it; NULL after a failure. Call this once. ENOMEM.
 */
MUST_CHECK errcode_t tree_builder_finish(struct tree_builder *builder, struct pool *pool, uint32_t **order,
                                         struct problem *problem);
