/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents that are files of the host, below a directory that stays open, so that its path is never resolved again. A
 * file is found by its place in the tree (its number is 0), or by its own path below that directory.
 */
#pragma once

#include "tree/contents.h"

/*
 * A further origin of a tree, with a directory that becomes the tree's (also after a failure); -1: there are no
 * contents. With follows_symlinks, symlinks on the way to its files are followed: the user gave their paths. ENOMEM.
 */
MUST_CHECK errcode_t host_contents_add(struct tree *tree, const char *path, int directory, bool follows_symlinks,
                                       uint32_t *origin);

/* A path of its own for a file of such an origin, which is copied: the number that its contents get. ENOMEM. */
MUST_CHECK errcode_t host_contents_add_path(struct tree *tree, uint32_t origin, const char *path, uint64_t *contents);
