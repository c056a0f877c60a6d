/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The groups by order as the kernel kept them before patches 10, 11 and 15. */
#ifndef EXT2FS_KERNEL_INDEX_H
#define EXT2FS_KERNEL_INDEX_H

#include "ext2fs/group/group_index.h"

extern const struct index_operations kernel_index;

/* The first order from `order` on whose set has members; mb->orders: there is none. Any thread; a hint. */
unsigned int kernel_index_next_order(const struct ext2mb *mb, enum index_kind kind, unsigned int order);

#endif
