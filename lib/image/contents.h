/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the contents of files, symlinks and the inodes of xattr values. */
#pragma once

#include "image/inode.h"
#include "image/map_walk.h"

/*
 * Reads bytes from an offset of a file or symlink, from its blocks or from the inode. Holes and bytes after the end are
 * zeros, and so are unwritten blocks of a file's contents. EUCLEAN: part of the map, or the inline data, is damaged;
 * the walker's listener has got the damage. Also errors in reading, ENOMEM. One walker belongs to one thread.
 */
MUST_CHECK errcode_t contents_read(struct map_walker *walker, const struct volume_inode *inode, uint64_t offset,
                                   void *bytes, size_t count);

/*
 * Returns a symlink's target, 1 to block_bytes bytes and a 0, which the caller frees: a path or, if the inode has
 * EXT4_ENCRYPT_FL, its encrypted form, which may have zeros in it. EUCLEAN: its size is not valid for a target, or it
 * has a 0 in it (the listener gets both as damage), or as contents_read().
 */
MUST_CHECK errcode_t symlink_read(struct map_walker *walker, const struct volume_inode *inode, char **target,
                                  size_t *bytes);
