/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories that small files are being written to. Each has locality groups of its own, so that files that are used
 * together lie together, whatever threads wrote them (Andreas Dilger's proposal of November 2008: with preallocations
 * by processor, the files of a directory were strewn over many, and each bitmap was written several times).
 *
 * His drawback, threads that wait for one another in one directory, is met with more locality groups: a thread that
 * finds the first one taken goes to one of a few others, by its number. So one thread alone makes one preallocation.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "allocator/preallocation/locality_group.h"

#define DIRECTORY_LOCALITY_SHARD_BITS 10
#define DIRECTORY_LOCALITY_SHARDS (1u << DIRECTORY_LOCALITY_SHARD_BITS)
#define DIRECTORY_LOCALITY_POOLS 4
#define DIRECTORY_LOCALITY_IDLE_MOST 16       /* in a shard, unused, that keep their preallocations */
#define DIRECTORY_LOCALITY_FIRST_CLUSTERS 32u /* of the first preallocation: most directories are small */

struct directory {
	struct locality_group pools[DIRECTORY_LOCALITY_POOLS]; /* every thread tries the first one first */
	struct directory *next;
	ext2_ino_t ino;
	uint32_t users; /* under the shard's lock */
};

struct directory_localities {
	struct directory_shard {
		_Alignas(64) pthread_mutex_t lock;
		struct directory *first; /* what was used last comes first */
		uint32_t idle;
	} shards[DIRECTORY_LOCALITY_SHARDS];
};

void directory_localities_init(struct directory_localities *table);

/* No directory is used any more, and all preallocations have been given back. */
void directory_localities_destroy(struct ext2mb *mb);

/*
 * The directory, to be left when it is no longer used; notes in the worker's directory_visits that it came there. No
 * lock may be held. ENOMEM.
 */
MUST_CHECK errcode_t directory_locality_visit(struct ext2mb_worker *worker, ext2_ino_t ino, struct directory **ret);
void directory_locality_leave(struct ext2mb_worker *worker, struct directory *directory);

/* Locks one of the directory's locality groups for this worker. */
struct locality_group *directory_locality_lock(const struct ext2mb_worker *worker, struct directory *directory);
