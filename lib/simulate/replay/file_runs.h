/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the blocks of a file are in the simulated layout: runs in the file's order, with holes between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

struct file_run {
	uint32_t logical, count;
	uint64_t physical;
	bool is_ahead; /* the kernel has not got these blocks yet, though it asked for them in the same request */
};

/* Zero-initialise; list is freed with free(). Ascending; neighbours that continue one another are one. */
struct file_runs {
	struct file_run *list;
	size_t count, capacity;
	uint64_t blocks; /* of all that are not ahead */
};

/* The index of the run that has this block, else of the next one after it, else count. */
size_t file_runs_find(const struct file_runs *runs, uint32_t logical);

/* Where the hole that has no such block begins and ends; false: it has the block. UINT32_MAX: nothing follows. */
bool file_runs_hole(const struct file_runs *runs, uint32_t logical, uint32_t *start, uint32_t *end);

/* Adds a run that is all in a hole. ENOMEM. */
MUST_CHECK errcode_t file_runs_add(struct file_runs *runs, const struct file_run *run);

/* Takes out what there is of one run in [logical, end), the first; *found is false when there is nothing. ENOMEM. */
MUST_CHECK errcode_t file_runs_remove(struct file_runs *runs, uint32_t logical, uint32_t end, struct file_run *run,
                                      bool *found);

/* What is in [logical, end) is no longer ahead. ENOMEM. */
MUST_CHECK errcode_t file_runs_confirm(struct file_runs *runs, uint32_t logical, uint32_t end);

/* How many extents cover [logical, end): as filefrag(8) counts them. What is ahead counts, too. */
uint64_t file_runs_extents(const struct file_runs *runs, uint32_t logical, uint32_t end);
