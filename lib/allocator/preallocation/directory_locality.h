/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories in which small files are being written. Each has its own locality groups, so that files that are used
 * together lie together, whichever threads wrote them. (Andreas Dilger proposed this in November 2008: with
 * preallocations per processor, the files of a directory were scattered over many, and each bitmap was written several
 * times.)
 *
 * He named a drawback: threads in one directory wait for one another. So a directory has several locality groups: a
 * thread that finds the first one locked uses one of the others, by the thread's number. A single thread makes only one
 * preallocation.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "allocator/preallocation/locality_group.h"

#define DIRECTORY_LOCALITY_SHARD_BITS 10
#define DIRECTORY_LOCALITY_SHARDS (1u << DIRECTORY_LOCALITY_SHARD_BITS)
#define DIRECTORY_LOCALITY_POOLS 4
#define DIRECTORY_LOCALITY_IDLE_MOST 16       /* unused directories of a shard that keep their preallocations */
#define DIRECTORY_LOCALITY_FIRST_CLUSTERS 32u /* length of the first preallocation: most directories are small */

struct directory {
	struct locality_group pools[DIRECTORY_LOCALITY_POOLS]; /* every thread tries the first one first */
	struct directory *next;
	ext2_ino_t ino;
	uint32_t users; /* protected by the shard's lock */
};

struct directory_localities {
	struct directory_shard {
		_Alignas(64) pthread_mutex_t lock;
		struct directory *first; /* the most recently used comes first */
		uint32_t idle;
	} shards[DIRECTORY_LOCALITY_SHARDS];
};

void directory_localities_init(struct directory_localities *table);

/* Frees the table. No directory is in use, and all preallocations have been discarded. */
void directory_localities_destroy(struct ext2mb *mb);

/*
 * Returns the directory, which the caller must leave after use. Records the visit in the worker's directory_visits. The
 * caller must not hold any lock. ENOMEM.
 */
MUST_CHECK errcode_t directory_locality_visit(struct ext2mb_worker *worker, ext2_ino_t ino, struct directory **ret);
void directory_locality_leave(struct ext2mb_worker *worker, struct directory *directory);

/* The worker has made a preallocation for the directory. */
void directory_locality_note_begun(struct ext2mb_worker *worker, ext2_ino_t ino);

/*
 * For a worker that goes in order, while most groups are nearly free: moves what a directory that it has begun before
 * has left to its own locality group, if that has little. The caller must not hold any lock.
 */
void directory_locality_take_over(struct ext2mb_worker *worker);

/* Locks one of the directory's locality groups for this worker. */
struct locality_group *directory_locality_lock(const struct ext2mb_worker *worker, struct directory *directory);
