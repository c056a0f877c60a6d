/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps of a program under --journal: changes that belong together and reach the disk as a whole or not at all. One
 * step runs at a time; fuse2fs's own lock ensures the same. Between steps the program's memory is consistent, so
 * transactions are committed then.
 */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

/* A commit comes at most this many seconds after its first step, as the kernel's do. */
#define COMMIT_SECONDS 5

/* Waits for the running step and begins one. After an interrupted command of debugfs, its step goes on. */
void step_enter(void);

/* The same for a step that may be refused: earlier steps are committed first. */
void step_enter_alone(void);

/* Ends the step. now: it is on disk when this returns; otherwise it may wait for others. Returns the commit's result.
 */
errcode_t step_leave(bool now);

/* Is a step running? A filesystem that is opened now takes part in it. */
bool step_is_inside(void);

/* Starts, once, the thread that commits steps that have waited for COMMIT_SECONDS. Called in the process that stays,
 * because fuse2fs forks. */
void steps_start_clock(void);

/* Ends it. No more steps come, and closing the filesystem commits what is left. */
void steps_stop_clock(void);

/* The program is about to end: waits for the running step, commits, and lets no other step begin. */
void steps_commit_for_good(void);
