// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much the program has freed since the last commit. Until the next one these blocks keep what they hold: what is
 * written to one that has been given out again goes through the journal. So a step that might be given many of them begins
 * with a commit (preload/steps.c), or a file that takes the place of another would have to fit into the journal.
 */
#include "preload/handles.h"
#include "preload/program.h"

static void note_freed(ext2_filsys fs, uint64_t blocks)
{
	struct handle *handle = program.journal ? handle_of(fs) : NULL;

	if (handle)
		handle->freed_blocks += blocks;
}

void ext2fs_block_alloc_stats2(ext2_filsys fs, blk64_t block, int in_use)
{
	if (in_use < 0)
		note_freed(fs, (uint64_t)EXT2FS_CLUSTER_RATIO(fs));
	NEXT(ext2fs_block_alloc_stats2)(fs, block, in_use);
}

void ext2fs_block_alloc_stats_range(ext2_filsys fs, blk64_t block, blk_t count, int in_use)
{
	if (in_use < 0)
		note_freed(fs, count);
	NEXT(ext2fs_block_alloc_stats_range)(fs, block, count, in_use);
}
