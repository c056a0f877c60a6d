/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of inode tables. */
#pragma once

#include "image/volume.h"

/* Is told of each block of a table that cannot be read; beyond the end of the device, of the first alone. */
typedef void (*inode_table_lost_function)(void *context, uint32_t ino, uint64_t block);

/*
 * Reads count blocks of an inode table, whose first one is `block` and begins with inode first_ino. What cannot be read
 * reads as zeros, which are inodes that are not in use. Any thread.
 */
void inode_table_read(const struct volume *volume, uint32_t first_ino, uint64_t block, uint32_t count, uint8_t *bytes,
                      inode_table_lost_function lost, void *context);
