/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads lines of the text files that options name; such a file may be /dev/zero. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "support/problem.h"

#define TEXT_LINE_MOST_BYTES ((size_t)16 << 20)

/*
 * getline(3) with a limit: the next line with its newline, if it has one, and a NUL after it; *bytes is 0 at the end
 * of the file. EFBIG: the line has more than TEXT_LINE_MOST_BYTES; errors of reading, ENOMEM. The caller frees *line.
 */
MUST_CHECK errcode_t text_line_read(FILE *file, char **line, size_t *capacity, size_t *bytes);

/* Takes a line of text_line_read(), which it may change, and its origin: "FILE:LINE", for problems. */
typedef errcode_t (*text_line_taker)(void *context, const char *origin, char *line, size_t bytes,
                                     struct problem *problem);

/* Passes each line of a file to `take`, up to its first error, which is returned. Errors of the file name its path. */
MUST_CHECK errcode_t text_line_each(const char *path, text_line_taker take, void *context, struct problem *problem);

/* Returns "FILE:LINE", as messages name a line. The caller frees it; NULL: no memory. */
char *text_line_origin(const char *path, unsigned long number);

/* Records a problem of a line: FILE:LINE: ACTION: "WORD" WHY. why NULL: the error's own message. */
errcode_t text_line_problem(struct problem *problem, errcode_t error, const char *path, unsigned long number,
                            const char *action, const char *word, const char *why);
