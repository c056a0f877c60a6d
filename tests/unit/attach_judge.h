/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an open filesystem must be after each call: recounted from its inodes, with no help of the allocator. */
#pragma once

#include <stdbool.h>

#include "mb_image.h"

/* A new image that the test removes, open, with an allocator attached. */
ext2_filsys attach_open_image(const char *mke2fs_options, const char *size);

/*
 * fs->block_map has what the filesystem's own metadata and the inodes in use refer to, what `owned` has (a bitmap, or
 * NULL) and nothing else; each descriptor counts the free clusters of its group, its checksum is right, and it is not
 * said to be unused where it is not; the superblock has the sum. A block that two refer to is wrong, too.
 */
void attach_judge(ext2_filsys fs, ext2fs_block_bitmap owned, const char *after);

/* Frees what nobody refers to and is marked: what a call that failed has left behind. Returns how many clusters. */
uint64_t attach_free_lost(ext2_filsys fs, ext2fs_block_bitmap owned);

/* If an allocator is attached, its books agree with themselves. */
void attach_check_books(ext2_filsys fs);
