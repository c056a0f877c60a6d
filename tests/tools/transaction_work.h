/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random changes of a filesystem through libext2fs, the same for the same seed. */
#pragma once

#include <ext2fs/ext2fs.h>

#include "../unit/seeded_random.h"

#define WORK_MOST_FILES 24
#define WORK_DIRECTORIES 4

struct work_file {
	ext2_ino_t ino, directory;
	char name[24];
};

/* Writes contents of a new file into free blocks, which three threads do at the same time. */
typedef errcode_t (*work_write_data)(ext2_filsys fs, uint64_t start, uint64_t count, const void *data);

struct work {
	ext2_filsys fs;
	struct random random;
	struct work_file files[WORK_MOST_FILES];
	unsigned int file_count;
	ext2_ino_t directories[WORK_DIRECTORIES];
	unsigned int directory_count;
	unsigned int names; /* given so far */
	ext2_ino_t large;   /* a file that is overwritten as a whole; 0: there is none */
	unsigned int large_blocks;
	work_write_data write_data;
};

/* The filesystem is empty but for lost+found. write_data NULL: contents of all files go through the channel. */
void work_init(struct work *work, uint64_t seed, unsigned int large_blocks, work_write_data write_data);

/* Some changes that belong together. Whatever fails ends the program. */
void work_step(struct work *work, unsigned int changes);
