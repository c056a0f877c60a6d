/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The use of each block in the kernel's layout, for all files of the trace: so a block that the kernel frees is found
 * in the simulated layout. Runs do not overlap, and are found in logarithmic time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct replay_file;

struct traced_run {
	uint64_t start, count;
	struct replay_file *file; /* NULL: the file does not matter */
	bool is_data;
	uint64_t place; /* data: the first logical block; else the block on the simulated disk, 0: none */
};

/* Zero-initialise. */
struct traced_blocks {
	void *tree; /* of tsearch(3) */
	uint64_t runs;
};

/* Returns a run that has any of these blocks; NULL: none. Valid until the next change. */
const struct traced_run *traced_blocks_find(const struct traced_blocks *blocks, uint64_t start, uint64_t count);

/* Adds a run, whose blocks must all be new, and joins it to the run that it continues. ENOMEM. */
MUST_CHECK errcode_t traced_blocks_add(struct traced_blocks *blocks, const struct traced_run *run);

/*
 * Removes these blocks from one run that has any of them; its other blocks stay. run->count is 0 if there is none.
 * ENOMEM.
 */
MUST_CHECK errcode_t traced_blocks_remove(struct traced_blocks *blocks, uint64_t start, uint64_t count,
                                          struct traced_run *run);

void traced_blocks_clear(struct traced_blocks *blocks);
