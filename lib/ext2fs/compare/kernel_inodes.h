/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories and small files where the kernel puts them: by flex groups, without shares. */
#ifndef EXT2FS_KERNEL_INODES_H
#define EXT2FS_KERNEL_INODES_H

#include "ext2fs/inode/inode_search.h"
#include "ext2fs/preallocation/file.h"

extern const struct inode_operations kernel_inodes;
extern const struct small_file_operations kernel_small_files;

#endif
