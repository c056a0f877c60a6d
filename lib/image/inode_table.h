/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of inode tables. */
#pragma once

#include "image/volume.h"

/* Gets each block of a table that cannot be read; of those beyond the end of the device, only the first. */
typedef void (*inode_table_lost_function)(void *context, uint32_t ino, uint64_t block);

/*
 * Reads count blocks of an inode table from `block` on, which begins with inode first_ino. Unreadable blocks become
 * zeros: inodes that are not in use. Any thread.
 */
void inode_table_read(const struct volume *volume, uint32_t first_ino, uint64_t block, uint32_t count, uint8_t *bytes,
                      inode_table_lost_function lost, void *context);
