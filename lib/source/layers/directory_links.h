/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of a tree that is laid over a symbolic link to a directory: what is in them goes to where the link leads,
 * as with tar's --keep-directory-symlink.
 */
#pragma once

#include "support/run/pool.h"
#include "tree/tree.h"

/* The files that a tree is laid over. */
struct lower_files {
	/*
	 * *mode: of the file at this path, which has no symbolic link on the way; 0: there is none. *target: of a
	 * symbolic link; the caller frees it. Errors of reading, ENOMEM.
	 */
	errcode_t (*look)(const void *context, const char *path, uint16_t *mode, char **target);
	const void *context;
	bool must_lead; /* files of a directory over a link that leads to none are refused: nothing may replace it */
};

/*
 * Follows the symbolic links on the way to a path, and with follows_last that at its end, too. *ret: the path without
 * links, which the caller frees; NULL: it leads nowhere, or in a circle. *mode: of what is there; 0: its last name is
 * not there. A link cannot lead out of the root. Errors of look(), ENOMEM.
 */
MUST_CHECK errcode_t lower_files_resolve(const struct lower_files *lower, const char *path, bool follows_last,
                                         char **ret, uint16_t *mode);

/*
 * Moves what is in such directories. only_implied: a directory that the tree describes stays, and replaces the link.
 * Owner, mode and xattrs of a directory that is emptied so are dropped. Where two files meet, the one stays that the
 * tree has at the path itself; two directories become one; a file stays beside a whiteout, which hides only what lies
 * below. If the tree itself has a file, a whiteout or an opaque directory on the way, the link leads nowhere. *order
 * (order may be NULL): links_below.order, which is changed with the nodes. *followed gets one more for each such
 * directory. EEXIST: a file meets a directory; ENOTDIR: lower->must_lead; errors of look(), EINTR, ENOMEM.
 */
MUST_CHECK errcode_t directory_links_follow(struct tree *tree, const struct lower_files *lower, bool only_implied,
                                            uint32_t **order, struct pool *pool, uint64_t *followed,
                                            struct problem *problem);
