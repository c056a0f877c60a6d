/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of the text files that options name, of which one may turn out to be /dev/zero. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "support/problem.h"

#define TEXT_LINE_MOST_BYTES ((size_t)16 << 20)

/*
 * getline(3) that ends: the next line with its end, if it has one, and a NUL after it; *bytes is 0 at the end of the
 * file. EFBIG: it has more than TEXT_LINE_MOST_BYTES; errors of reading, ENOMEM. *line is the caller's to free.
 */
MUST_CHECK errcode_t text_line_read(FILE *file, char **line, size_t *capacity, size_t *bytes);

/* A line as text_line_read() gives it, which the taker may change, and its origin: "FILE:LINE", for problems. */
typedef errcode_t (*text_line_taker)(void *context, const char *origin, char *line, size_t bytes,
                                     struct problem *problem);

/* Gives each line of a file to `take`, up to its first error, which is returned. Errors of the file name its path. */
MUST_CHECK errcode_t text_line_each(const char *path, text_line_taker take, void *context, struct problem *problem);

/* "FILE:LINE", as messages name a line. The caller frees it; NULL: no memory. */
char *text_line_origin(const char *path, unsigned long number);

/* Records a problem of a line: FILE:LINE: ACTION: "WORD" WHY. why NULL: the error says it all. */
errcode_t text_line_problem(struct problem *problem, errcode_t error, const char *path, unsigned long number,
                            const char *action, const char *word, const char *why);
