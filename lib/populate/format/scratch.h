/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place where mke2fs can be asked what it would do with a size: an empty file in memory that no folder has. */
#ifndef POPULATE_SCRATCH_H
#define POPULATE_SCRATCH_H

#include <stdbool.h>

#include "support/problem.h"

struct scratch {
	int descriptor;
	char *path;  /* of use to this process and its children; owned */
	bool is_named; /* where /proc is missing: a file below TMPDIR, removed at the end */
};

/* Main thread only. To be closed even where opening it failed. */
MUST_CHECK errcode_t scratch_open(struct scratch *scratch, struct problem *problem);
void scratch_close(struct scratch *scratch);

#endif
