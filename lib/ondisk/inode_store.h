/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading, changing and writing one inode through a block_access: its block is read, the inode in it changed, and the
 * block written. Inodes of one block must not be changed by two threads.
 */
#pragma once

#include "ondisk/block_access.h"
#include "ondisk/inode_change.h"

/*
 * Reads an inode into raw, format->inode_bytes bytes, and decodes it. An inode in the unwritten part of its table
 * reads as zeros. EXT2_ET_BAD_INODE_NUM (no such inode, or its table's place is impossible),
 * EXT2_ET_INODE_CSUM_INVALID, ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t inode_store_read(struct block_access *access, uint32_t ino, void *raw,
                                      struct inode_decoded *inode);

/*
 * Writes raw, as inode_encode() or inode_change() made it. If the inode is in the unwritten part of its table, the
 * inodes before it become zeros. EXT2_ET_BAD_INODE_NUM, ENOMEM, errors in reading and writing.
 */
MUST_CHECK errcode_t inode_store_write(struct block_access *access, uint32_t ino, const void *raw);

/* inode_store_read(), inode_change() and inode_store_write() at once; now is what was read, changed. */
MUST_CHECK errcode_t inode_store_change(struct block_access *access, uint32_t ino, const struct inode_decoded *now);
