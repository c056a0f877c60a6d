/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The N files with most runs more than would be ideal, which is what the score counts; of equals, those with the lower
 * inode numbers. filefrag's extents are fewer where a hole or unwritten blocks end a run: by them, the list would not
 * say where the score comes from.
 */
#pragma once

#include <stddef.h>

#include "analyze/report/report.h"
#include "support/problem.h"

/* A heap with the best of the worst on top. One thread at a time; zero-initialise but for `limit`. */
struct worst_files {
	size_t limit;
	size_t count, capacity;
	struct report_file *files;
};

/* Takes it if it is among the worst and has more runs than is ideal. Logarithmic at most. ENOMEM. */
MUST_CHECK errcode_t worst_add(struct worst_files *worst, const struct report_file *file);

/* The worst one first; the heap is none afterwards. */
void worst_sort(struct worst_files *worst);
