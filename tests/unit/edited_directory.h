/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of a real filesystem (ondisk_image.h) for the editor of directories: what is flushed is written into its
 * inode by libext2fs, and read back by it. Every failure ends the test.
 */
#pragma once

#include "directory_names.h"
#include "ondisk_image.h"
#include "seeded_random.h"
#include "update/directory/directory_editor.h"

#define EDITED_FILES 8u /* entries are links to these, which are consecutive inodes */

struct edited_directory {
	struct ondisk_image image;
	struct sink sink; /* the image; counts what is written */
	uint32_t written_blocks;

	ext2_ino_t ino, files[EDITED_FILES];
	struct random *random;
	bool is_scattered;   /* blocks are taken here and there */
	int64_t blocks_left; /* that allocate() gives before ENOSPC; negative: no limit */

	struct directory_editor *editor;
};

/* A new image with the files, and "dir" without names. The superblock's hash version and flag are set. */
void edited_directory_make(struct edited_directory *directory, const char *mke2fs_options, const char *size,
                           uint8_t hash_version, uint32_t hash_flag, struct random *random);

/* Fills "dir" as e2populate would: leaves packed full. Entry n is a link to file n % EDITED_FILES. */
void edited_directory_fill(struct edited_directory *directory, struct name_set *set);

void edited_directory_open_editor(struct edited_directory *directory);

/* Flushes, and writes the inode. */
void edited_directory_flush(struct edited_directory *directory);
void edited_directory_close_editor(struct edited_directory *directory);

/* Counts links of the files, and closes the image, which e2fsck must accept. */
void edited_directory_check(struct edited_directory *directory);

/* Opens it again after that, with unix_io_manager or another. */
void edited_directory_reopen(struct edited_directory *directory, io_manager manager);
