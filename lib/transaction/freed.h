/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is freed between two commits. libext2fs tells of it through block_alloc_stats and block_alloc_stats_range, whose
 * hooks are these, or those of an attached allocator, which pass on what they hear. Until the next commit a freed block
 * keeps what it holds:
 *
 * - it is nobody's contents any more, so it leaves the blocks that ext2mb_transaction_name_data() has named;
 * - given out again, it goes through the journal, so it counts for what a step may need there.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "transaction/channel_state.h"

/* The hooks. */
void freed_hear_of_block(ext2_filsys fs, blk64_t block, int in_use);
void freed_hear_of_range(ext2_filsys fs, blk64_t start, blk_t count, int in_use);

/* Blocks that libext2mb itself has freed; counted: of these, so many are not told by a hook as well. */
void freed_note(ext2_filsys fs, uint64_t start, uint64_t count, uint64_t counted);

/* Sets them where fs is open for transactions, and nobody has hooks of another kind. */
void freed_listen(ext2_filsys fs);

/* These hooks call the two above from now on. */
void freed_are_told_by(ext2_filsys fs, void (*block_hook)(ext2_filsys fs, blk64_t block, int in_use),
                       void (*range_hook)(ext2_filsys fs, blk64_t start, blk_t count, int in_use));
