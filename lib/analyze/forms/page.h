/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages for browsers, whole in one file: what e2frag's and e2allocsim's have in common. */
#pragma once

#include <stdio.h>

#include "support/problem.h"

/*
 * Writes the text of a page. Where it has {{style}} comes the style that all pages share, with the light colours, where
 * it has {{dark}} the declarations of the dark ones; what stands at {{NAME}} otherwise is written by write_part(),
 * which is told the name. Its error, the stream's.
 */
MUST_CHECK errcode_t page_fill(const char *text, errcode_t (*write_part)(void *context, const char *name),
                               void *context, FILE *stream);
