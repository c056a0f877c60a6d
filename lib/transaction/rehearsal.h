/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A step that is only tried: all of its writes stay in memory, those too that would go to the disk at once because
 * nothing refers to their blocks yet. At its end it is known how large its transaction would be, and the disk is as
 * before.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "support/problem.h"

/*
 * From now on nothing is written but the MMP block, and no commit succeeds. Contents are not held: the caller writes
 * none with ext2mb_transaction_write_data(). EXT2MB_ET_NO_TRANSACTION. One thread.
 */
MUST_CHECK errcode_t rehearsal_begin(io_channel channel);

/*
 * Counts the blocks that a commit would write into the log, descriptors and commit block included. Only what libext2fs
 * has written counts, so call ext2fs_flush() before. EXT2MB_ET_NO_TRANSACTION, EXT2MB_ET_TRANSACTION_OVER,
 * EXT2_ET_RO_FILSYS, ENOMEM, errors in reading. One thread.
 */
MUST_CHECK errcode_t rehearsal_count(io_channel channel, uint64_t *blocks);
