/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Going on after a refusal, as if what has been changed since the last commit had never been. */
#pragma once

#include <ext2fs/ext2fs.h>

#include "support/problem.h"

/*
 * Reads anew what libext2fs has in memory: superblock, descriptors, bitmaps, inodes. No copy of the handle, file or
 * extent handle may be in use; an attached allocator has to be detached. EXT2MB_ET_TRANSACTION_OVER: a write or a
 * commit failed on the disk, or it was aborted, and it stays over; EXT2MB_ET_BAD_ARGUMENT: nothing was refused; errors
 * in reading, after which it is over.
 */
MUST_CHECK errcode_t transaction_undo(ext2_filsys fs);
