/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In which order one worker comes to directories with its small files. One after the other, as archives are unpacked
 * and trees are copied: then no directory needs a preallocation of its own to keep its files together, and what is left
 * of each one's preallocation would be a hole. Or now here, now there: then preallocations by directory are worth their
 * leftovers.
 *
 * Pure; each worker has its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

#define DIRECTORY_VISITS_RECENT 16u /* directories that count as those it is at: a worker may serve several streams */
#define DIRECTORY_VISITS_MOST 512u  /* files, after which what was before counts half */

/* Zero-initialise. */
struct directory_visits {
	ext2_ino_t recent[DIRECTORY_VISITS_RECENT]; /* the newest first */
	uint32_t stays;                             /* files in one of the recent directories */
	uint32_t arrivals;                          /* first files of directories that no worker had been in */
	uint32_t returns; /* files in others: a worker had been there, but not this worker just now */
};

/* A small file is about to be written in the directory. is_known: there has been one before. */
void directory_visits_note(struct directory_visits *visits, ext2_ino_t directory, bool is_known);

/*
 * Whether directories come and go one after the other: at least two files in each on average, and hardly ever one that
 * was there before. A worker that stays where it is, in a few directories, is not meant.
 */
bool directory_visits_in_order(const struct directory_visits *visits);
