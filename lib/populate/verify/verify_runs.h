/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks a file of the image has, as libext2fs reads its map, and whether what is preallocated is that of the
 * plan. */
#pragma once

#include "populate/build/plan.h"

/* The runs of a file's blocks in the image. Zero-initialise. */
struct verify_runs {
	struct extent_list written;
	struct extent_list unwritten,
		wanted; /* the latter is what the plan says; their physical blocks are no places */
};

/* Reads them. Errors of libext2fs. One thread for each. */
MUST_CHECK errcode_t verify_runs_read(const struct plan *plan, ext2_filsys fs, uint32_t node, struct verify_runs *runs);

/* Is just that unwritten which the plan says? ENOMEM. */
MUST_CHECK errcode_t verify_runs_compare(const struct plan *plan, uint32_t node, struct verify_runs *runs, bool *equal);

void verify_runs_free(struct verify_runs *runs);
