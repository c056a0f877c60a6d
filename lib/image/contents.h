/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What files, symlinks and the inodes of xattrs hold, as far as it is to be read as a whole. */
#pragma once

#include "image/inode.h"
#include "image/map_walk.h"

/*
 * Reads bytes from an offset of a file or symlink, wherever they are: in blocks, in the inode. Holes, what is not
 * written yet and what lies after the end are zeros. EUCLEAN: part of the map, or the inline data, is damaged; the
 * walker's listener was told. Also errors in reading, ENOMEM. One walker belongs to one thread.
 */
MUST_CHECK errcode_t contents_read(struct map_walker *walker, const struct volume_inode *inode, uint64_t offset,
                                   void *bytes, size_t count);

/*
 * A symlink's target, 1 to block_bytes bytes and a 0, which the caller frees: a path, or if the inode has
 * EXT4_ENCRYPT_FL what the kernel has made of it, which may have zeros in it. EUCLEAN: its size cannot be that of a
 * target, it has a 0 in it (the listener is told of both), or as contents_read().
 */
MUST_CHECK errcode_t symlink_read(struct map_walker *walker, const struct volume_inode *inode, char **target,
                                  size_t *bytes);
