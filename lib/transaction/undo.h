/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Going on after a refusal, as if nothing had been changed since the last commit. */
#pragma once

#include <ext2fs/ext2fs.h>

#include "support/problem.h"

/*
 * Reads superblock, descriptors, bitmaps and inodes again into libext2fs's memory. No copy of the handle, file or
 * extent handle may be in use; an attached allocator must be detached. EXT2MB_ET_TRANSACTION_OVER: a write or a
 * commit failed on the disk, or the transaction was aborted; it stays over. EXT2MB_ET_BAD_ARGUMENT: nothing was
 * refused. Errors in reading end the transaction.
 */
MUST_CHECK errcode_t transaction_undo(ext2_filsys fs);
