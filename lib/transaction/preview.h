/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists what a commit would write, without writing it. */
#pragma once

#include <ext2fs/ext2fs.h>

#include "support/problem.h"

enum preview_kind {
	PREVIEW_DESCRIPTOR,   /* of the log */
	PREVIEW_COMMIT_BLOCK, /* of the log */
	PREVIEW_SUPERBLOCK,
	PREVIEW_DESCRIPTORS,
	PREVIEW_BLOCK_BITMAP,
	PREVIEW_INODE_BITMAP,
	PREVIEW_INODE_TABLE,
	PREVIEW_OTHER,  /* of files and directories */
	PREVIEW_BACKUP, /* of superblock or descriptors; not in the log */
};

struct preview_block {
	enum preview_kind kind;
	uint64_t journal_block; /* block of the journal; 0: not in the log */
	uint64_t log_block;     /* that block in the filesystem */
	uint64_t block;         /* the block's own place; 0 for the log's own blocks */
	uint32_t group;         /* of bitmaps and inode tables */
};

typedef errcode_t (*preview_function)(void *context, const struct preview_block *block);

/*
 * Calls show for each block in the order in which a commit would write them; its error ends the call and is returned.
 * Shows only what libext2fs has written, so call ext2fs_flush() before. EXT2MB_ET_NO_TRANSACTION,
 * EXT2MB_ET_TRANSACTION_OVER, EXT2_ET_RO_FILSYS, ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t preview_commit(io_channel channel, preview_function show, void *context);
