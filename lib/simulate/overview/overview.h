/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workloads one after the other, on an image of their own, as a page in Markdown with charts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"
#include "support/run/progress.h"

struct overview_options {
	const char *directory; /* for the report; made if it is not there */
	bool is_quick;         /* everything in small: to try it, not to learn from it */
	uint64_t seed;
	unsigned int online_processors;
	enum progress_style progress;
};

/*
 * Writes allocsim.md and its charts, allocsim-*.svg, replacing what is there; the image, allocsim.img, must not be
 * there, and is gone in the end. EINTR when a signal arrived. Main thread.
 */
MUST_CHECK errcode_t overview_write(const struct overview_options *options, struct problem *problem);
