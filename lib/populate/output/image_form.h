/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the file becomes when the filesystem in it is finished: a form is one of these tables. */
#pragma once

#include "populate/build/build.h"
#include "populate/output/output.h"

struct image_form {
	/* Whether an output that output_examine() has looked at can have this form. */
	errcode_t (*check)(const struct build *build, const struct output *output);
	/* Puts the finished filesystem into this form, in a new temporary file. Main thread only. */
	errcode_t (*convert)(const struct build *build, struct output *output);
};
