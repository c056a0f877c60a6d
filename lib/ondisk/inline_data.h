/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inline data: what a small file, directory or symlink holds stands in its inode, the first 60 bytes in i_block and
 * the rest as the value of an xattr of the filesystem's own, system.data, after the file's xattrs. Values in, bytes
 * out.
 */
#pragma once

#include "ondisk/inode.h"

/*
 * How many bytes fit an inode whose xattr area is this one (as xattr_encode_inode() made it; NULL: without xattrs):
 * 60 or more, or 0 where not even the empty value has room, or without the feature.
 */
uint32_t inline_data_room(const struct ondisk_format *format, const void *xattr_area);

/*
 * Writes `bytes` bytes of data, at most inline_data_room(), into root and into area, which holds the file's xattrs or
 * zeros: inode_xattr_area_bytes() bytes. The inode is to carry EXT4_INLINE_DATA_FL.
 */
void inline_data_encode(const struct ondisk_format *format, const void *data, uint32_t bytes,
                        uint8_t root[INODE_ROOT_BYTES], void *area);
