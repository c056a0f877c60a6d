/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A block_access through fs->io, with libext2mb's allocator. Reads and writes are part of fs's transaction, if any. */
#pragma once

#include "allocator/core/allocator.h"
#include "ondisk/block_access.h"
#include "ondisk/quota_file.h"

struct fs_access {
	struct block_access access;
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ondisk_format format;
	uint32_t *written; /* owned: of each group's inode table */
};

/*
 * For the filesystem of mb, which outlives it, as does the worker; blocks are allocated and freed through the worker.
 * EXT2MB_ET_BAD_GEOMETRY, ENOMEM; after an error there is nothing to be closed.
 */
MUST_CHECK errcode_t fs_access_open(struct fs_access *access, struct ext2mb *mb, struct ext2mb_worker *worker);
void fs_access_close(struct fs_access *access);

/* The numbers of the quota files; all 0 without the feature quota. */
void fs_access_quota_inodes(ext2_filsys fs, uint32_t quota_inodes[QUOTA_TYPES]);
