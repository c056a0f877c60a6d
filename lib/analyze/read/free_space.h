/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The free space, from the block bitmaps. */
#pragma once

#include "analyze/read/damage.h"
#include "analyze/read/volume.h"
#include "support/run/pool.h"

struct free_space_options {
	uint64_t chunk_blocks; /* a power of two, at least a cluster; 0: count no chunks */
	bool with_groups;      /* fill report_free.groups */
};

/*
 * Reads all bitmaps with the pool's workers: some 16 bytes of memory for each group, and 80 more with_groups. Bitmaps
 * that cannot be read are damage. Errors: ENOMEM; what is in *free_space is the report's then, too.
 */
MUST_CHECK errcode_t free_space_read(const struct volume *volume, struct pool *pool,
                                     const struct free_space_options *options, struct report_free *free_space,
                                     struct damage_list *damage);
