/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an update did, or would do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct update_report {
	uint64_t added, replaced, changed, removed, unchanged; /* names; changed: only their metadata */
	uint64_t data_bytes;                                   /* written as contents of files */
	uint64_t commits, logged_blocks, direct_blocks;        /* of all transactions */
	uint64_t grown_bytes;                                  /* by which the filesystem has become larger */
	uint64_t kept_names;                                   /* of the image, in directories that were read */
	struct warnings warnings;
	bool skipped_image; /* it lies in its own source */
};

void update_report_clear(struct update_report *report);
