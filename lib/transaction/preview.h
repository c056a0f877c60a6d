/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a commit would write, without writing it. */
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
	PREVIEW_BACKUP, /* of superblock or descriptors: not in the log */
};

struct preview_block {
	enum preview_kind kind;
	uint64_t journal_block; /* of the journal; 0: it is not in the log */
	uint64_t log_block;     /* of the filesystem: where that lies */
	uint64_t block;         /* where it belongs; 0 for the log's own blocks */
	uint32_t group;         /* of bitmaps and inode tables */
};

typedef errcode_t (*preview_function)(void *context, const struct preview_block *block);

/*
 * Each block in the order in which a commit would write them; an error ends it and is returned. Only what libext2fs has
 * written by now: ext2fs_flush() before. EXT2MB_ET_NO_TRANSACTION, EXT2MB_ET_TRANSACTION_OVER, EXT2_ET_RO_FILSYS,
 * ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t preview_commit(io_channel channel, preview_function show, void *context);
