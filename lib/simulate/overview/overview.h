/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs all workloads, one after the other, on images of their own, and reports them as Markdown with charts or as a
 * page for browsers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"
#include "support/run/progress.h"

struct overview_options {
	const char *directory; /* for Markdown and its charts, made if missing; NULL: no Markdown */
	const char *html;      /* the page; NULL: none */
	bool is_quick;         /* small runs, for trying it out; the figures mean nothing */
	uint64_t seed;
	unsigned int online_processors;
	enum progress_style progress;
};

/*
 * Writes allocsim.md and its charts, allocsim-*.svg, into the directory, and the page, replacing older ones. The
 * images, allocsim*.img, must not exist; they are in the directory, or in the page's, and are removed in the end.
 * EINTR when a signal arrived. Main thread.
 */
MUST_CHECK errcode_t overview_write(const struct overview_options *options, struct problem *problem);
