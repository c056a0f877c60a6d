/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many refer to an xattr block, and to an inode with an xattr's value (ea_inode). Pure. */
#pragma once

#include "ondisk/inode.h"

/* h_refcount of a block that xattr_start_block() has accepted. */
uint32_t xattr_block_references(const void *bytes);

/* Sets it, and the checksum, which depends on the block's number. */
void xattr_block_set_references(const struct ondisk_format *format, uint64_t block, uint32_t references, void *bytes);

/*
 * The inode of a value counts those that refer to it: the upper half is where the seconds of ctime are, the lower half
 * where i_version is. (The hash of the value is where the seconds of atime are.)
 */
uint64_t xattr_value_references(const struct inode_decoded *inode);
void xattr_value_set_references(struct inode_decoded *inode, uint64_t references);

/*
 * True for the inode of a value as old kernels of Lustre made them: it counts no references, since it has one owner,
 * which it names.
 */
bool xattr_value_is_of_lustre(const struct inode_decoded *value, uint32_t owner_ino, uint32_t owner_generation);
