/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A block_access (ondisk/block_access.h) through fs->io, with an allocator of ext2mb_open(): inodes, maps and quota
 * files of an existing filesystem are read, changed and written as metadata of its transaction, if it has one.
 */
#pragma once

#include "ext2fs/ext2mb.h"
#include "filesystem/fs_zones.h"
#include "ondisk/block_access.h"
#include "ondisk/quota_file.h"

/* All borrowed, and of one filesystem. */
struct fs_access_parts {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker; /* allocates and frees */
	const struct ondisk_format *format;
	const struct geometry *geometry;
	const struct fs_zones *zones;
	const uint64_t *suspect; /* as fs_zones_find() has set it */
};

struct fs_access {
	struct block_access access;
	struct fs_access_parts parts;
	uint32_t *written; /* owned: how many inodes at the front of each group's table, as the descriptors have it */
};

/* ENOMEM; after an error there is nothing to be closed. */
MUST_CHECK errcode_t fs_access_open(struct fs_access *access, const struct fs_access_parts *parts);
void fs_access_close(struct fs_access *access);

/* The numbers of the quota files; all 0 without the feature quota. */
void fs_access_quota_inodes(ext2_filsys fs, uint32_t quota_inodes[QUOTA_TYPES]);
