/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every inode that an update writes needs: its map, and its owner's quota. Main thread. */
#pragma once

#include "update/apply/applying.h"

/*
 * Writes the map of an inode: its root into value->root, with the flag, and its blocks, which have just been taken.
 * Errors of file_map_build() and of writing.
 */
MUST_CHECK errcode_t inode_parts_write_map(struct applying *applying, uint32_t ino, const struct extent_list *extents,
                                           const uint64_t *map_blocks, uint32_t count, struct inode_value *value);

/* Charges the inode's owner with so many inodes and blocks, if the filesystem has quota. ENOMEM. */
MUST_CHECK errcode_t inode_parts_charge(struct applying *applying, const struct inode_value *value, int64_t inodes,
                                        int64_t blocks);
