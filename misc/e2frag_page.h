/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag --html: the page and the file that it is in. */
#pragma once

#include "analyze/forms/forms.h"

/*
 * Writes the page of form_html() to path; after is NULL but for comparisons. A file gets its name once it is whole: a
 * page that is there stays until then. A pipe is written directly. Block devices and the images that the reports are of
 * are refused.
 */
MUST_CHECK errcode_t page_write(const char *path, const struct report *before, const struct report *after,
                                const struct form_parts *parts, struct problem *problem);
