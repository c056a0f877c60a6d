/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps of a program under --journal: what belongs together and is on disk as a whole or not at all. One runs at a
 * time; fuse2fs has a lock of its own that does the same. Between them everything that the program keeps in memory fits
 * together, so that is when a transaction is committed.
 */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

/* Commits come no later than so many seconds after the first step that they contain, as the kernel's do. */
#define COMMIT_SECONDS 5

/* A step begins, after the one that runs. Where a command of debugfs was interrupted, it goes on with that one's. */
void step_enter(void);

/* The same for one that may be refused: what came before is committed first. */
void step_enter_alone(void);

/* It ends. now: it is to be on disk when this returns; else it may wait for others. Returns what a commit has said. */
errcode_t step_leave(bool now);

/* Is one running? Then a filesystem that is opened takes part in it. */
bool step_is_inside(void);

/* Starts the thread that commits what has waited for COMMIT_SECONDS, once; in the process that stays, for fuse2fs
 * forks. */
void steps_start_clock(void);

/* Ends it: no more steps come, and who closes the filesystem commits what is left. */
void steps_stop_clock(void);

/* Waits for the step that runs, commits what there is, and lets no other step begin: the program is about to end. */
void steps_commit_for_good(void);
