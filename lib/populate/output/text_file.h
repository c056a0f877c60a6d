/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A text in a file that gets its name once it is whole: what is there stays until then. */
#pragma once

#include <stdio.h>

#include "support/problem.h"

/* Writes the text; what it returns need not cover errors of the stream that closing it shows as well. */
typedef errcode_t (*text_writer)(void *context, FILE *stream);

/* action: what messages say has failed. */
MUST_CHECK errcode_t text_file_write(const char *path, text_writer write, void *context, const char *action,
                                     struct problem *problem);
