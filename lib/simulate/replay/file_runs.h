/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file's block map in the simulated layout: runs in the file's order, with holes between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

struct file_run {
	uint32_t logical, count;
	uint64_t physical;
	bool is_ahead; /* the kernel has not got these blocks yet, but requested them together with others */
};

/* Zero-initialise; list is freed with free(). Ascending; neighbours that continue one another are one. */
struct file_runs {
	struct file_run *list;
	size_t count, capacity;
	uint64_t blocks; /* of all runs that are not ahead */
};

/* Returns the index of the run that has this block, else of the next run, else count. */
size_t file_runs_find(const struct file_runs *runs, uint32_t logical);

/* Finds the hole around this block; false: the block is mapped. *end UINT32_MAX: nothing follows. */
bool file_runs_hole(const struct file_runs *runs, uint32_t logical, uint32_t *start, uint32_t *end);

/* Adds a run that lies in a hole. ENOMEM. */
MUST_CHECK errcode_t file_runs_add(struct file_runs *runs, const struct file_run *run);

/* Removes the part of the first run in [logical, end); run->count is 0 if there is none. ENOMEM. */
MUST_CHECK errcode_t file_runs_remove(struct file_runs *runs, uint32_t logical, uint32_t end, struct file_run *run);

/* Marks the blocks in [logical, end) as no longer ahead. ENOMEM. */
MUST_CHECK errcode_t file_runs_confirm(struct file_runs *runs, uint32_t logical, uint32_t end);

/* The number of extents that cover [logical, end), as filefrag(8) counts them, with runs that are ahead. */
uint64_t file_runs_extents(const struct file_runs *runs, uint32_t logical, uint32_t end);
