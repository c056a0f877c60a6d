/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order in which one worker visits directories with its small files. A worker that unpacks an archive or copies a
 * tree visits them one after the other. Then files of a directory lie together without a preallocation per directory,
 * and the unused rest of each such preallocation would be a hole. A worker that jumps between directories gains more by
 * preallocations per directory than their unused rests cost.
 *
 * Pure; each worker has its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

#define DIRECTORY_VISITS_RECENT 16u /* directories that count as current: a worker may serve several streams */
#define DIRECTORY_VISITS_MOST 512u  /* files, after which the counts are halved */
#define DIRECTORY_VISITS_FEW 4u     /* so many directories may have a long preallocation each */

/* Zero-initialise. */
struct directory_visits {
	ext2_ino_t recent[DIRECTORY_VISITS_RECENT]; /* the newest first */
	uint32_t stays;                             /* files in one of the recent directories */
	uint32_t arrivals;                          /* first files of directories that no worker had been in */
	uint32_t returns; /* files in other directories: some worker had been there, but not this worker recently */
	uint32_t in_few;  /* the last so many files were each in one of the few most recent directories */
};

/* A small file is about to be written in the directory. is_known: the directory has had one before. */
void directory_visits_note(struct directory_visits *visits, ext2_ino_t directory, bool is_known);

/*
 * Whether the worker visits directories one after the other: at least two files in each on average, and hardly ever a
 * return to an earlier directory. False for a worker that stays in a few directories.
 */
bool directory_visits_in_order(const struct directory_visits *visits);

/* Whether the worker goes to and fro among more than a few directories. */
bool directory_visits_scattered(const struct directory_visits *visits);
