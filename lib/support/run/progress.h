/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Progress of long work. Workers add to a counter; a thread of its own draws. This is the one part of
 * lib/support that writes to the terminal, and only what the main program asked for.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "support/problem.h"

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

/* Begins a stage ("scan", "copy"); a total of 0 means unknown. Main thread only. name: a string literal. */
void progress_stage(struct progress *progress, const char *name, uint64_t total_bytes, uint64_t total_files);

/* Adds what is done; any thread. */
void progress_add(struct progress *progress, uint64_t bytes, uint64_t files);

/* Takes the bar away and frees; the last JSON line is written. NULL is allowed. */
void progress_end(struct progress *progress);
