/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delayed allocation: what is written to files stays without blocks until so much is dirty that it is written back,
 * file by file in the order in which they became dirty, all of each. Linux does it when a share of the memory is dirty,
 * and to what has been dirty for 30 seconds. By then most small files are closed and their sizes are known; of one that
 * is still being written, only what there is gets blocks.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/image/file_set.h"

struct image;

/* A file that is being written: allocated with its first two members by who writes it. */
struct written_file {
	const struct file_set *set;
	struct simulated_file *file; /* has an inode */
	uint64_t bytes;              /* so far */
	struct ext2mb_file *handle;  /* owned; once some of it has been written back */
	bool is_closed;
	bool is_listed;
};

struct dirty_files {
	pthread_mutex_t lock;
	struct ext2mb_worker *worker; /* who writes back: one for all, as in Linux for each device */
	const struct image *image;
	uint64_t most_bytes;
	uint64_t bytes;
	struct written_file **files; /* owned; those that are closed, too */
	size_t count, capacity;
};

/* most_bytes: so much may be dirty. Errors of ext2mb_worker_open(). After an error, too, it is to be closed. */
MUST_CHECK errcode_t dirty_files_open(struct dirty_files *dirty, const struct image *image, uint64_t most_bytes);

/*
 * More is written to the file's end, and it is closed, if the caller says so, and no longer the caller's. May write
 * back, meanwhile others wait. ENOMEM, errors of ext2mb_file_alloc(). Any thread, each file by one at a time.
 */
MUST_CHECK errcode_t dirty_files_write(struct dirty_files *dirty, struct written_file *file, uint64_t bytes,
                                       bool closes);

/* Writes back what is dirty now. The same errors. Any thread. */
MUST_CHECK errcode_t dirty_files_write_back(struct dirty_files *dirty);

/* Gives up a file that will not be closed. NULL is allowed. It must not be dirty. */
void dirty_files_abandon(struct dirty_files *dirty, struct written_file *file);

/* What is still dirty stays without blocks; files that are not closed are left to the caller. */
void dirty_files_close(struct dirty_files *dirty);
