/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that write contents with ext2mb_transaction_write_data(). */
#pragma once

#include <pthread.h>

#include <ext2fs/ext2fs.h>

struct writer {
	ext2_filsys fs;
	blk64_t start;
	unsigned int count;
	int byte;
	unsigned int most; /* blocks of one call of write_in_parts() */
	uint64_t seed;
	errcode_t error;
	pthread_t thread;
};

/* Fills these blocks with that byte, by one call. */
errcode_t write_run(ext2_filsys fs, blk64_t start, unsigned int count, int byte);

/* Functions of threads with a struct writer: they write by calls of random sizes until one fails, or by one call. */
void *write_in_parts(void *context);
void *write_once(void *context);

void start_writer(struct writer *writer, void *(*work)(void *context));

/* Returns the thread's last result. */
errcode_t join_writer(struct writer *writer);

/* So many blocks in use from now on, of no file. */
blk64_t alloc_run(ext2_filsys fs, unsigned int count);

/* In the root directory. */
void make_directory(ext2_filsys fs, unsigned int number);
