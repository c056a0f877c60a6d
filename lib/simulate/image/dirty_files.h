/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delayed allocation: written data has no blocks until so much is dirty that it is written back, whole files in the
 * order in which they became dirty. Linux does it when a share of the memory is dirty, and for data that has been
 * dirty for 30 seconds. By then most small files are closed and their sizes are known; a file that is still being
 * written gets blocks for its present data.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/image/file_set.h"

struct image;

/* A file that is being written. The writer allocates it and sets the first two members. */
struct written_file {
	const struct file_set *set;
	struct simulated_file *file; /* has an inode */
	uint64_t bytes;              /* written so far; some of it has been written back if the file is open */
	bool is_closed;
	bool is_listed;
};

struct dirty_files {
	pthread_mutex_t lock;
	struct ext2mb_worker *worker; /* for writing back: one for all files, as Linux has one for each device */
	const struct image *image;
	uint64_t most_bytes;
	uint64_t bytes;
	struct written_file **files; /* owned; with closed files */
	size_t count, capacity;
};

/* most_bytes is the limit of dirty bytes. Errors of ext2mb_worker_open(). The caller closes it after an error, too. */
MUST_CHECK errcode_t dirty_files_open(struct dirty_files *dirty, const struct image *image, uint64_t most_bytes);

/*
 * Appends to the file. If the caller closes it, it is no longer the caller's. May write back; other threads wait
 * meanwhile. ENOMEM, errors of ext2mb_file_alloc(). Any thread, each file by one at a time.
 */
MUST_CHECK errcode_t dirty_files_write(struct dirty_files *dirty, struct written_file *file, uint64_t bytes,
                                       bool closes);

/* Writes back all dirty files. The same errors. Any thread. */
MUST_CHECK errcode_t dirty_files_write_back(struct dirty_files *dirty);

/* Frees a file that will not be closed. NULL is allowed. It must not be dirty. */
void dirty_files_abandon(struct dirty_files *dirty, struct written_file *file);

/* Dirty data gets no blocks; the caller frees files that are not closed. */
void dirty_files_close(struct dirty_files *dirty);
