/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The extent tree behind file_map.h, which documents the arguments. */
#pragma once

#include "ondisk/file_map.h"

/* Nodes other than the root, which lies in the inode. */
uint64_t extent_tree_blocks(const struct ondisk_format *format, size_t count);

/* map_blocks holds the nodes level by level from the one below the root down to the leaves. */
MUST_CHECK errcode_t extent_tree_build(const struct ondisk_format *format, uint32_t ino, uint32_t generation,
                                       const struct file_extent *extents, size_t count, const uint64_t *map_blocks,
                                       uint8_t root[INODE_ROOT_BYTES], void *blocks);
