/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A failure as the user will be told: "PATH: ACTION: REASON". Libraries and workers fill one in and return its error;
 * only a main program prints it, once.
 */
#pragma once

#include <et/com_err.h>
#include <stddef.h>
#include <stdint.h>

#include "support/cleanup.h"

struct problem {
	errcode_t error;    /* 0: no problem */
	char *path;         /* the whole path, owned; NULL when no path is concerned */
	const char *action; /* what failed, a string literal: "cannot open" */
	char *reason;       /* owned; NULL: error_message(error) is the reason */
};

/*
 * Records the problem unless one is recorded already (the first one is the cause, later ones are consequences) and
 * returns error, so that `return problem_set(...)` reads well. path may be NULL and is copied. Not thread-safe: one
 * problem belongs to one thread at a time.
 */
errcode_t problem_set(struct problem *problem, errcode_t error, const char *path, const char *action);

/* The same with a reason of the caller's own words, formatted as by printf. */
errcode_t problem_set_reason(struct problem *problem, errcode_t error, const char *path, const char *action,
                             const char *reason, ...) __attribute__((format(printf, 5, 6)));

/* Adds to the end of a recorded problem's reason. Does nothing if none is recorded. */
void problem_add(struct problem *problem, const char *more, ...) __attribute__((format(printf, 2, 3)));

/* Moves the content of `from` into `to`, whose old content is freed; from is empty afterwards. */
void problem_move(struct problem *to, struct problem *from);

/* Frees what problem owns and makes it empty. */
void problem_clear(struct problem *problem);

/*
 * Returns the text after "tool: ", one line without a newline: "path: action: reason", without absent parts. Path and
 * reason are shown as utf8_printable() does. Returns a string that the caller frees, NULL when out of memory.
 */
char *problem_text(const struct problem *problem);

/*
 * Warnings that the user gets although the work was done. A thing that happened several times is one warning: the
 * first case in full, and how many more there were. Zero-initialise. Main thread.
 */
struct warnings {
	struct problem *list; /* owned, in the order in which they were added */
	size_t count, capacity;
};

/* Moves `first`, the problem of the first case, into a new warning; count is the number of all cases. ENOMEM clears
 * `first`. */
MUST_CHECK errcode_t warnings_add(struct warnings *warnings, struct problem *first, uint64_t count);
void warnings_clear(struct warnings *warnings);
