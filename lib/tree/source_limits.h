/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much sources may hold that others have made: archives, layers of images and manifests. A kilobyte can be packed
 * so that it becomes millions of names; so everything is counted over all sources together, and before memory is taken.
 * Directories of the host, which took as much of its disk already, are not counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "support/problem.h"

/* 0: as much as there is. */
struct source_limits {
	uint64_t path_bytes;     /* of a path within a source, as it is written there */
	uint64_t names;          /* also those that later sources replace, and directories that nothing describes */
	uint64_t metadata_bytes; /* memory for names, targets of links, extended attributes and maps of holes */
	uint64_t unpacked_bytes; /* of what is packed, or comes through a pipe: all of it, headers, too */
};

/*
 * Linux opens no path of more bytes than this (PATH_MAX, with the byte that ends it). bench/scale has archives of ten
 * million names; twice as many inodes of 256 bytes are 4.8 GiB of an image.
 */
#define SOURCE_LIMITS_PATH_BYTES 4095
#define SOURCE_LIMITS_NAMES 20000000
#define SOURCE_LIMITS_UNPACKED_BYTES (UINT64_C(1) << 40)

/* Counts of one run. Any thread. */
struct source_counts {
	struct source_limits limits;
	atomic_uint_fast64_t names, metadata_bytes, unpacked_bytes;
};

/*
 * Each of these counts something that is about to be taken: EDQUOT where that is more than the limit; counts may be
 * NULL. source_counts_problem() says which it was.
 */
MUST_CHECK errcode_t source_counts_name(struct source_counts *counts, uint64_t metadata_bytes);
MUST_CHECK errcode_t source_counts_metadata(struct source_counts *counts, uint64_t bytes);
MUST_CHECK errcode_t source_counts_unpacked(struct source_counts *counts, uint64_t bytes);

/*
 * What the user is told after EDQUOT, which it returns. It names no source: which of those that are read side by side
 * comes to the limit first is chance.
 */
errcode_t source_counts_problem(const struct source_counts *counts, struct problem *problem);
