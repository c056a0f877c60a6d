/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The free space, from the block bitmaps. */
#pragma once

#include "analyze/report/report.h"
#include "image/volume.h"
#include "support/run/pool.h"

/*
 * Reads all bitmaps with the pool's workers: some 16 bytes of memory for each group, and 80 more with_groups, which
 * fills report->free.groups. The caller has set report->free.chunk_blocks to a power of two, at least a cluster, or
 * to 0. Bitmaps that cannot be read are damage. Errors: ENOMEM; *report owns its contents then, too.
 */
MUST_CHECK errcode_t free_space_read(const struct volume *volume, struct pool *pool, bool with_groups,
                                     struct report *report);

/* Blocks that follow each other. */
struct block_run {
	uint64_t start, count;
};

/*
 * Reads the bitmaps again, as if these runs, ascending, were free, and fills in a part of *space: sizes, largest_start,
 * largest_allocatable and the zones, which the caller frees also after an error. No damage is told. ENOMEM.
 */
MUST_CHECK errcode_t free_space_read_without(const struct volume *volume, struct pool *pool,
                                             const struct block_run *runs, size_t count, struct report_free *space);
