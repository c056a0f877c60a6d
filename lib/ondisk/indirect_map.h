/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The map of direct and indirect blocks behind file_map.h, which documents the arguments. */
#pragma once

#include "ondisk/file_map.h"

/* Indirect blocks: those that have a block of the file below them. */
uint64_t indirect_map_blocks(const struct ondisk_format *format, const struct file_extent *extents, size_t count);

/* map_blocks holds the indirect blocks in the order in which a reader from the start of the file meets them. */
MUST_CHECK errcode_t indirect_map_build(const struct ondisk_format *format, const struct file_extent *extents,
                                        size_t count, const uint64_t *map_blocks, uint8_t root[INODE_ROOT_BYTES],
                                        void *blocks);

/* How many blocks of a file the map reaches. */
uint64_t indirect_map_reach(const struct ondisk_format *format);

/* Indirect blocks of a file of data_blocks blocks without a hole; beyond the reach nothing is counted. */
uint64_t indirect_map_blocks_of_dense(const struct ondisk_format *format, uint64_t data_blocks);
