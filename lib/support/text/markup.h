/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text in HTML and SVG. The writers share this and the frame in analyze/forms/page.h, and nothing else: e2frag's page
 * is JSON that its script draws, the overview's is made from Markdown, and charts are SVG.
 */
#pragma once

#include <stdio.h>

/* Prints text with & < > as entities. Errors stay in the stream. */
void markup_print(const char *text, size_t count, FILE *stream);
