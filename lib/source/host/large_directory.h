/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large directories are examined while they are still being listed: getdents64() gives names one buffer after another,
 * to one thread, so whoever lists a directory hands on what it got, in pieces, and goes on reading. Others make nodes
 * of a piece's names and examine them. When all is listed, the pieces, each of which is sorted, are merged to the
 * directory's children. (A directory of 200 000 names takes 70 ms to list on tmpfs, in which the other threads waited.)
 *
 * Used for a level (directory_scan.h) in which a directory looks large and the pool has several threads. Which thread
 * examines which piece makes no difference to the result: of the pieces' failures the one of the first directory and
 * name counts.
 */
#pragma once

#include "source/host/directory_scan.h"

/* From so many bytes on, as stat(2) says, a directory is taken for a large one: some thousand names. */
#define LARGE_DIRECTORY_BYTES ((off_t)64 << 10)

/* The large directories of one level. */
struct large_directories;

/*
 * For a level of so many directories; several helpers can be told to wait for pieces until all of them are listed.
 * ENOMEM. The caller destroys it; NULL is allowed then.
 */
MUST_CHECK errcode_t large_directories_create(struct scan *scan, uint32_t listings, struct large_directories **ret);
void large_directories_destroy(struct large_directories *large);

/* Hands on what getdents64() gave; any worker. `count` grows by the number of names. EOVERFLOW, ENOMEM. */
MUST_CHECK errcode_t large_directory_add(struct large_directories *large, uint32_t directory, const char *entries,
                                         size_t bytes, uint64_t *count);

/* Examines pieces as long as too many wait, which is how far listing may be ahead; the worker that lists. */
void large_directories_relieve(struct large_directories *large, unsigned int worker);

/* One of the level's directories, large or not, has been listed, or could not be; any worker. */
void large_directories_listed(struct large_directories *large, errcode_t error);

/* Examines pieces until there will be none any more. What fails is kept for large_directories_failed(). */
void large_directories_help(struct large_directories *large, unsigned int worker);

/* Has an entry failed? Then moves the first failure to *failure and says in which directory. Main thread, no job runs.
 */
bool large_directories_failed(struct large_directories *large, uint32_t *directory, struct problem *failure);

/* Else gives the directories their children. ENOMEM, EINTR. Main thread, no job runs. */
MUST_CHECK errcode_t large_directories_finish(struct large_directories *large, struct problem *problem);
