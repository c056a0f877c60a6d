/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A real filesystem for what lib/ondisk makes: its bytes are put in as they are, and libext2fs, e2fsck and the
 * kernel say what they think of them. Every failure ends the test; a suite's fixtures make and remove the folder.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "ondisk/format.h"
#include "ondisk/inode.h"

struct ondisk_image {
	ext2_filsys fs; /* open from ondisk_image_make() to ondisk_image_close() */
	struct ondisk_format format;
	blk64_t cursor; /* where the search for free blocks goes on */
};

/* Unchecked fixtures, so that a failed test leaves nothing behind. */
void ondisk_image_setup(void);
void ondisk_image_teardown(void);

/* Options of mke2fs, and the size with mke2fs's suffix. */
void ondisk_image_make(struct ondisk_image *image, const char *mke2fs_options, const char *size);

/* A new inode, entered in the root directory as name. */
ext2_ino_t ondisk_image_new_inode(struct ondisk_image *image, const char *name, uint16_t mode);

/* Takes up to limit_blocks free blocks in a row. */
blk64_t ondisk_image_take_blocks(struct ondisk_image *image, uint64_t limit_blocks, uint64_t *taken_blocks);

/* Puts whole blocks, or one inode's inode_bytes, where they belong. */
void ondisk_image_put_blocks(struct ondisk_image *image, blk64_t block, uint64_t count, const void *bytes);
void ondisk_image_put_inode(struct ondisk_image *image, ext2_ino_t ino, const void *bytes);

void ondisk_image_close(struct ondisk_image *image);

/* Closes it and runs e2fsck -fn, which must find nothing. */
void ondisk_image_check(struct ondisk_image *image);

/*
 * After ondisk_image_check(): the folder where the image is mounted, read-only and for this process alone; NULL
 * if this process may not do so, or the kernel cannot (blocks larger than pages).
 */
const char *ondisk_image_mount(void);
const char *ondisk_image_mount_writable(void);
void ondisk_image_unmount(void);

/* The image file's path. */
const char *ondisk_image_path(void);
