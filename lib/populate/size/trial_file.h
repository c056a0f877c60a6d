/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file in memory, without a name in any directory, in which mke2fs tries a size. */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

struct trial_file {
	int descriptor;
	char *path;  /* valid for this process and its children; owned */
	bool is_named; /* where /proc is missing: a file below TMPDIR, removed at the end */
};

/* Main thread only. To be closed even where opening it failed. */
MUST_CHECK errcode_t trial_file_open(struct trial_file *scratch, struct problem *problem);
void trial_file_close(struct trial_file *scratch);
