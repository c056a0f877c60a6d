/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that are freed between two commits. libext2fs reports them through the hooks block_alloc_stats and
 * block_alloc_stats_range. They are set to the functions below, or to those of an attached allocator, which call
 * these. Until the next commit a freed block keeps its contents:
 *
 * - it does not belong to a file any more, so it leaves the blocks that ext2mb_transaction_name_data() has named;
 * - if it is allocated again, it goes through the journal, so it counts for what a step may need there.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "transaction/channel_state.h"

/* The hooks. */
void freed_hear_of_block(ext2_filsys fs, blk64_t block, int in_use);
void freed_hear_of_range(ext2_filsys fs, blk64_t start, blk_t count, int in_use);

/* Notes blocks that libext2mb itself has freed. counted: how many of them no hook reports. */
void freed_note(ext2_filsys fs, uint64_t start, uint64_t count, uint64_t counted);

/* Sets the hooks if fs is open for transactions and has no hooks of the program's. */
void freed_listen(ext2_filsys fs);

/* The attached allocator's hooks call the two above from now on. */
void freed_are_told_by(ext2_filsys fs, void (*block_hook)(ext2_filsys fs, blk64_t block, int in_use),
                       void (*range_hook)(ext2_filsys fs, blk64_t start, blk_t count, int in_use));
