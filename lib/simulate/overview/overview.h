/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workloads one after the other, on images of their own, as Markdown with charts or as a page for browsers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"
#include "support/run/progress.h"

struct overview_options {
	const char *directory; /* for Markdown and its charts; made if it is not there; NULL: only the page is wanted */
	const char *html;      /* the page; NULL: only Markdown is wanted */
	bool is_quick;         /* everything in small: to try it, not to learn from it */
	uint64_t seed;
	unsigned int online_processors;
	enum progress_style progress;
};

/*
 * Writes allocsim.md and its charts, allocsim-*.svg, into the directory, and the page, replacing what is there. The
 * images, allocsim*.img, must not be there; they lie in the directory, or in the page's, and are gone in the end. EINTR
 * when a signal arrived. Main thread.
 */
MUST_CHECK errcode_t overview_write(const struct overview_options *options, struct problem *problem);
