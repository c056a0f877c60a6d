/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Progress of long work. Workers add to a counter; a separate thread draws. This is the one part of lib/support that
 * writes to the terminal, and only if the main program asks for it.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "support/problem.h"
#include "support/run/time_left.h"

struct progress;

enum progress_style {
	PROGRESS_AUTO, /* a bar if the stream is a terminal, else nothing */
	PROGRESS_BAR,  /* one line that is redrawn */
	PROGRESS_JSON, /* JSON objects, one in each line, a few a second */
	PROGRESS_NONE,
};

/*
 * Starts showing progress on stream (standard error). *ret is NULL for a style that shows nothing; every
 * function here accepts that NULL. Errors: ENOMEM, EAGAIN.
 */
MUST_CHECK errcode_t progress_start(FILE *stream, enum progress_style style, struct progress **ret);

/*
 * Sets the stages to come and their costs, so that the time left is that of all of them; without a plan it is that of
 * the stage. Borrowed. Main thread only.
 */
void progress_plan(struct progress *progress, const struct stage_cost *costs, size_t count);

/* Begins a stage ("scan", "copy"); a total of 0 means unknown. Main thread only. name: a string literal. */
void progress_stage(struct progress *progress, const char *name, uint64_t total_bytes, uint64_t total_files);

/* Adds completed work; any thread. */
void progress_add(struct progress *progress, uint64_t bytes, uint64_t files);

/* One more (1) or one less (-1) waits for what another process does, which is shown. Any thread. */
void progress_wait(struct progress *progress, int more);

/* Sets the work of the stages to come, once it is known. Main thread only. */
void progress_expect(struct progress *progress, uint64_t files, uint64_t bytes);

/* Sets the running stage's bytes, if they become known only now. Main thread only. */
void progress_total(struct progress *progress, uint64_t bytes);

/*
 * progress_find(), for any thread, adds work for later stages that a stage finds, as struct survey counts it. The
 * tree is read level by level; progress_survey_level(), for the main thread only, begins a level.
 */
void progress_find(struct progress *progress, const struct found *more);
void progress_survey_level(struct progress *progress);

/* Removes the bar or writes the last JSON line, and frees. NULL is allowed. */
void progress_end(struct progress *progress);
