/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Self-contained pages for browsers: the common part of e2frag's and e2allocsim's. */
#pragma once

#include <stdio.h>

#include "support/problem.h"

/*
 * Writes the text of a page. {{style}} is replaced by the style that all pages share, with the light colours,
 * {{dark}} by the declarations of the dark ones, and any other {{NAME}} by what write_part() writes for that name.
 * Returns write_part()'s error or the stream's.
 */
MUST_CHECK errcode_t page_fill(const char *text, errcode_t (*write_part)(void *context, const char *name),
                               void *context, FILE *stream);
