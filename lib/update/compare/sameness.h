/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a file of the tree with one of the image. */
#pragma once

#include "image/directory_walk.h"
#include "image/inode.h"
#include "image/xattrs.h"
#include "tree/contents.h"
#include "tree/tree.h"
#include "update/build/options.h"
#include "update/build/protected.h"

enum sameness {
	SAME,
	SAME_CONTENTS,   /* only owner, mode, times, flags or project differ */
	SAME_BUT_XATTRS, /* and xattrs do */
	SAME_NOTHING,    /* or the contents have not been compared */
};

/* One thread uses a judge. */
struct sameness_judge {
	const struct tree *tree;
	const struct protection *protection; /* of the tree */
	const struct volume *volume;
	const struct update_options *options;
	struct map_walker *walker;
	struct volume_xattrs xattrs;
};

/*
 * Do the contents of both have to be compared, because nothing else tells whether they are the same? So it is with
 * options->compares_bytes, and with an mtime that is the epoch's (update_time_is_cut()); else size and mtime tell. Both
 * are regular files of equal size.
 */
bool sameness_needs_bytes(const struct update_options *options, const struct volume *volume,
                          const struct tree_node *node, const struct volume_inode *inode);

/*
 * Compares a node with the inode that has its name. has_same_bytes says whether regular files of which
 * sameness_needs_bytes() is true have equal contents. A file that fs-verity shall protect is not the same as one that
 * it does not protect; the opposite is the same. A regular file of the host has no flags until it is copied, so its
 * flags are not compared. Errors: those of reading, EUCLEAN (the image is damaged).
 */
MUST_CHECK errcode_t sameness_judge(struct sameness_judge *judge, uint32_t node, const struct volume_inode *inode,
                                    bool has_same_bytes, enum sameness *sameness);

/* Compares the contents of a regular file with those of an inode of equal size. */
MUST_CHECK errcode_t sameness_of_bytes(struct map_walker *walker, struct content_reader *reader,
                                       const struct tree *tree, uint32_t node, const struct volume_inode *inode,
                                       bool *is_same, struct problem *problem);

void sameness_end(struct sameness_judge *judge);
