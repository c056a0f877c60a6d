/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing back what has changed. */
#pragma once

#include "allocator/core/allocator.h"

/*
 * Commits, gives all preallocations back, then writes the bitmaps of changed groups with their checksums and fills in
 * descriptors and superblock. EXT2_ET_RO_FILSYS, ENOMEM, the first I/O error: what was not written stays marked as
 * changed, all else is done; else the discard function's first error. No other thread.
 */
MUST_CHECK errcode_t sync_all(struct ext2mb *mb);
