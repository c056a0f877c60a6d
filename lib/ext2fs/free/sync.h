/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing back what has changed. */
#pragma once

#include "ext2fs/core/allocator.h"

/*
 * Writes the bitmaps of changed groups with their checksums and fills in descriptors and superblock.
 * EXT2_ET_RO_FILSYS, ENOMEM, the first I/O error: what was not written stays marked as changed, all else is done. No
 * other thread.
 */
MUST_CHECK errcode_t sync_groups(struct ext2mb *mb);
