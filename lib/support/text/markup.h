/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text in HTML and SVG. The writers of those share this and the frame in analyze/forms/page.h, and have nothing else in
 * common: e2frag's page is JSON that its script draws, the overview's is made of Markdown, and charts are SVG.
 */
#pragma once

#include <stdio.h>

/* Prints it so that it is read as text: & < > become entities. Errors stay in the stream. */
void markup_print(const char *text, size_t count, FILE *stream);
