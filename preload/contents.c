/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of files that fuse2fs overwrites need not go through the journal: as with data=ordered, they are written
 * where they are. Blocks that are new to a file are written at once anyway, as long as they were free at the last
 * commit.
 *
 * Only blocks that the file already has, with contents, are named to the transaction. Such a block has either
 * belonged to this file since the last commit, or has been written since then and is in the journal. A freed block
 * could become a directory's: the transaction hears of the free and forgets the block.
 */
#include <sys/stat.h>

#include "preload/handles.h"
#include "preload/program.h"
#include "preload/steps.h"

struct named_run {
	blk64_t start;
	blk64_t count;
};

static void name_run(struct handle *handle, struct named_run *run)
{
	/* Blocks that cannot be named are journalled. */
	if (run->count)
		(void)!ext2mb_transaction_name_data(handle->fs, run->start, run->count);
	run->count = 0;
}

/* Returns 0 for a hole or an unwritten block. */
static blk64_t written_block(ext2_file_t file, blk64_t logical)
{
	blk64_t block = 0;
	int flags = 0;

	if (ext2fs_bmap2(ext2fs_file_get_fs(file), ext2fs_file_get_inode_num(file), ext2fs_file_get_inode(file), NULL,
	                 0, logical, &flags, &block))
		return 0;
	return flags & BMAP_RET_UNINIT ? 0 : block;
}

/* chattr +j asks for contents in the journal. */
static bool is_plain(const struct ext2_inode *inode)
{
	return inode && S_ISREG(inode->i_mode) && !(inode->i_flags & (EXT4_INLINE_DATA_FL | EXT3_JOURNAL_DATA_FL));
}

static void name_overwritten(struct handle *handle, ext2_file_t file, unsigned int bytes)
{
	const struct ext2_inode *inode = ext2fs_file_get_inode(file);
	unsigned int block_bytes = handle->fs->blocksize;
	struct named_run run = { 0 };
	__u64 position;

	if (!bytes || !is_plain(inode) || ext2fs_file_llseek(file, 0, EXT2_SEEK_CUR, &position))
		return;
	__u64 end = position + bytes < EXT2_I_SIZE(inode) ? position + bytes : EXT2_I_SIZE(inode);

	for (blk64_t logical = position / block_bytes; logical * block_bytes < end; logical++) {
		blk64_t block = written_block(file, logical);

		if (!block || block != run.start + run.count)
			name_run(handle, &run);
		if (block && !run.count)
			run.start = block;
		run.count += block != 0;
	}
	name_run(handle, &run);
}

errcode_t ext2fs_file_write(ext2_file_t file, const void *bytes, unsigned int count, unsigned int *written)
{
	struct handle *handle = program.journal && program.kind == PROGRAM_FUSE2FS && step_is_inside() ?
	                                handle_of(ext2fs_file_get_fs(file)) :
	                                NULL;

	if (handle && handle->is_journalled)
		name_overwritten(handle, file, count);
	return NEXT(ext2fs_file_write)(file, bytes, count, written);
}
