/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms in which a comparison with an older image is shown; for reports of e2frag and of other tools. */
#pragma once

#include <stdio.h>

#include "image/delta.h"
#include "support/text/json.h"

/* A member "against" of the open object. */
void form_delta_json(struct json *json, const struct delta *delta);

/* Lines of text, the first one after `title`. */
void form_delta_text(const struct delta *delta, const char *title, FILE *stream);

/* A line for each range: where it starts in the filesystem, and its length, in bytes. A text_writer; context: a struct
 * delta. */
MUST_CHECK errcode_t form_delta_ranges(void *context, FILE *stream);
