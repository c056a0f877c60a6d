/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inode numbers: shares and Orlov's rule for directories, near the parent for the rest, or packed in order. */
#pragma once

#include "ext2fs/core/allocator.h"

/* EXT2MB_ET_NO_INODES, EXT2MB_ET_BAD_ARGUMENT, ENOMEM. */
MUST_CHECK errcode_t inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request,
                                 ext2_ino_t *ino);

/* EXT2MB_ET_BAD_RANGE (reserved ones too), EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM. */
MUST_CHECK errcode_t inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, bool is_directory);
