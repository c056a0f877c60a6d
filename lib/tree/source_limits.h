/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits for sources that others have made: archives, images, layers and manifests. A packed kilobyte can become
 * millions of names. So everything is counted over all sources together, and before memory is allocated. Directories of
 * the host are not counted, since they already occupy as much of its disk.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "support/problem.h"

/* 0: no limit. */
struct source_limits {
	uint64_t path_bytes;     /* the longest path within a source, as the source spells it */
	uint64_t names;          /* including names that later sources replace, and implied directories */
	uint64_t metadata_bytes; /* memory for names, targets of links, extended attributes and maps of holes */
	uint64_t unpacked_bytes; /* from compressed sources and pipes: everything, with headers */
};

/*
 * Linux opens no longer path (PATH_MAX, which includes the NUL). bench/scale has archives of ten million names; twice
 * as many inodes of 256 bytes are 4.8 GiB of an image.
 */
#define SOURCE_LIMITS_PATH_BYTES 4095
#define SOURCE_LIMITS_NAMES 20000000
#define SOURCE_LIMITS_UNPACKED_BYTES (UINT64_C(1) << 40)

/* Counts of one run. Any thread. */
struct source_counts {
	struct source_limits limits;
	atomic_uint_fast64_t names, metadata_bytes, unpacked_bytes;
	atomic_uint_fast64_t path_bytes; /* the longest path that has been met */
};

/*
 * Each of these counts something before the caller allocates it. EDQUOT: it exceeds the limit; source_counts_problem()
 * says which limit. counts may be NULL.
 */
MUST_CHECK errcode_t source_counts_name(struct source_counts *counts, uint64_t metadata_bytes);
MUST_CHECK errcode_t source_counts_metadata(struct source_counts *counts, uint64_t bytes);
MUST_CHECK errcode_t source_counts_unpacked(struct source_counts *counts, uint64_t bytes);

/* Adds what was counted when a source was read earlier; its paths are not looked at. EDQUOT, as above. */
MUST_CHECK errcode_t source_counts_add(struct source_counts *counts, uint64_t names, uint64_t metadata_bytes,
                                       uint64_t unpacked_bytes);

/* Notes the length of a path, so that the longest one is known. counts may be NULL. */
void source_counts_path(struct source_counts *counts, uint64_t bytes);

/*
 * Describes the exceeded limit to the user; returns EDQUOT. It names no source: sources are read in parallel, and
 * chance decides which one reaches the limit first.
 */
errcode_t source_counts_problem(const struct source_counts *counts, struct problem *problem);
