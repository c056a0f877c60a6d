/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXT2FS_DIRECTORY_INODES_H
#define EXT2FS_DIRECTORY_INODES_H

#include "ext2fs/inode/inode_search.h"

/* Ours. */
extern const struct inode_operations inodes_in_shares;

#endif
