/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Progress of long work. Workers add to a counter; a thread of its own draws. This is the one part of
 * lib/support that writes to the terminal, and only what the main program asked for.
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
	PROGRESS_JSON, /* one JSON object a line, a few a second */
	PROGRESS_NONE,
};

/*
 * Starts showing progress on stream (standard error). *ret is NULL for a style that shows nothing; every
 * function here accepts that NULL. Errors: ENOMEM, EAGAIN.
 */
MUST_CHECK errcode_t progress_start(FILE *stream, enum progress_style style, struct progress **ret);

/*
 * The stages that are to come, and what each costs, so that the time left is that of all of them; without a plan it is
 * that of the stage. Borrowed. Main thread only.
 */
void progress_plan(struct progress *progress, const struct stage_cost *costs, size_t count);

/* Begins a stage ("scan", "copy"); a total of 0 means unknown. Main thread only. name: a string literal. */
void progress_stage(struct progress *progress, const char *name, uint64_t total_bytes, uint64_t total_files);

/* Adds what is done; any thread. */
void progress_add(struct progress *progress, uint64_t bytes, uint64_t files);

/* What the stages to come have to do, once it is known. Main thread only. */
void progress_expect(struct progress *progress, uint64_t files, uint64_t bytes);

/* How many bytes the stage that runs has, where that is known only now. Main thread only. */
void progress_total(struct progress *progress, uint64_t bytes);

/*
 * What a stage finds that later ones have to do, as struct survey counts it, while that is not known: any thread. The
 * tree is read level by level; progress_survey_level() begins one. Main thread only.
 */
void progress_find(struct progress *progress, const struct found *more);
void progress_survey_level(struct progress *progress);

/* Takes the bar away and frees; the last JSON line is written. NULL is allowed. */
void progress_end(struct progress *progress);
