/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text in HTML and SVG. */
#pragma once

#include <stdio.h>

/* Prints it so that it is read as text: & < > become entities. Errors stay in the stream. */
void markup_print(const char *text, size_t count, FILE *stream);
