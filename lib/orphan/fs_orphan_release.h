/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deletes or truncates one orphan after the other. Single-threaded; calls libext2fs (see fs_orphan.h). */
#pragma once

#include "allocator/core/allocator.h"
#include "orphan/orphan_message.h"

/*
 * libext2fs works on a copy of the filesystem handle: inodes and extent trees go to the disk, but the copy's bitmaps
 * and counters are thrown away. The blocks that libext2fs frees are collected and then freed through the allocator.
 * It refuses blocks that are free or metadata, and only its bitmaps and counters are written back.
 */
struct orphan_release {
	ext2_filsys fs;
	ext2_filsys copy;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_orphan_released counts;
	struct ext2mb_extent *freed; /* by libext2fs, of the inode that is being released */
	size_t freed_count;
	size_t freed_capacity;
	errcode_t freed_error; /* ENOMEM while collecting */
	uint64_t seen_blocks;  /* while the inode's blocks are checked */
};

/* EXT2_ET_RO_FILSYS, EXT2MB_ET_ORPHAN_UNSUPPORTED, ENOMEM; after an error orphan_release_end() is not called. */
MUST_CHECK errcode_t orphan_release_begin(struct orphan_release *release, struct ext2mb *mb);

/*
 * EXT2MB_ET_ORPHAN_INODE (not in use, or its blocks cannot be its own), EXT2MB_ET_ORPHAN_UNSUPPORTED: nothing has
 * been changed. After other errors the inode may be half released: blocks stay in use that no inode refers to.
 */
MUST_CHECK errcode_t orphan_release_inode(struct orphan_release *release, ext2_ino_t ino);

void orphan_release_end(struct orphan_release *release);
