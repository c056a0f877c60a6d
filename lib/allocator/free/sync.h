/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes changed bitmaps and counters back. */
#pragma once

#include "allocator/core/allocator.h"

/*
 * Commits, discards all preallocations, then writes the bitmaps of changed groups with their checksums and fills in
 * descriptors and superblock. EXT2_ET_RO_FILSYS, ENOMEM. An I/O error: returns the first one; groups that were not
 * written stay marked as changed, and the rest is done. Else returns the discard function's first error. No other
 * thread may run.
 */
MUST_CHECK errcode_t sync_all(struct ext2mb *mb);

/* The most blocks that sync_all() would write now: bitmaps, descriptors and the superblock. Any thread. */
uint64_t sync_most_blocks(struct ext2mb *mb);
