/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each block is used for in the kernel's layout, of all that the trace is about: to find what a block that the
 * kernel frees is in the simulated layout. Runs that do not overlap, found in logarithmic time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct replay_file;

struct traced_run {
	uint64_t start, count;
	struct replay_file *file; /* NULL: nobody asks whose they are */
	bool is_data;
	uint64_t place; /* data: the first of these blocks in the file; else, on the simulated disk, 0: nowhere */
};

/* Zero-initialise. */
struct traced_blocks {
	void *tree; /* of tsearch(3) */
	uint64_t runs;
};

/* A run that has any of these blocks; NULL: there is none. Until the next change. */
const struct traced_run *traced_blocks_find(const struct traced_blocks *blocks, uint64_t start, uint64_t count);

/* Adds a run, of which no block may be there already, joined to the one that it continues. ENOMEM. */
MUST_CHECK errcode_t traced_blocks_add(struct traced_blocks *blocks, const struct traced_run *run);

/*
 * Takes a run out that has any of these blocks, cut to them: what else it had stays. *found is false when there is
 * none. ENOMEM.
 */
MUST_CHECK errcode_t traced_blocks_remove(struct traced_blocks *blocks, uint64_t start, uint64_t count,
                                          struct traced_run *run, bool *found);

void traced_blocks_clear(struct traced_blocks *blocks);
