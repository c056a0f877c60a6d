/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deletes or truncates one orphan after the other. Single-threaded; calls libext2fs (see fs_orphan.h). */
#pragma once

#include "allocator/core/allocator.h"
#include "filesystem/fs_access.h"
#include "ondisk/inode_release.h"
#include "orphan/orphan_message.h"

struct orphan_release {
	struct ondisk_format format;
	struct fs_access access;
	struct inode_release release;
	struct quota_changes changes;
	uint32_t quota_inodes[QUOTA_TYPES];
	struct ext2mb_orphan_released counts;
};

/* EXT2_ET_RO_FILSYS, EXT2MB_ET_BAD_GEOMETRY, ENOMEM; after an error orphan_release_end() is not called. */
MUST_CHECK errcode_t orphan_release_begin(struct orphan_release *release, struct ext2mb *mb);

/*
 * index: of the orphan, for inode_release_was_done(). EXT2MB_ET_ORPHAN_INODE (not in use, or damaged, or its blocks
 * cannot be its own): nothing has been changed. After other errors the inode may be half released: blocks stay in use
 * that no inode refers to.
 */
MUST_CHECK errcode_t orphan_release_inode(struct orphan_release *release, ext2_ino_t ino, uint32_t index);

/*
 * Writes the quotas of what has been released, also after an error; last. EXT2MB_ET_QUOTA_FILE (why names it); errors
 * in reading and writing.
 */
MUST_CHECK errcode_t orphan_release_end(struct orphan_release *release, const struct orphan_message *why);
