/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much room everything takes, known before anything is placed. */
#pragma once

#include "populate/build/plan.h"
#include "support/run/pool.h"

/*
 * A district is a run of neighbouring nodes that gets a range of the free space of its own. Where the districts end
 * decides where blocks are placed, so this number is part of what an image looks like.
 */
#define NODES_PER_DISTRICT 4096u

static inline uint32_t district_count(const struct plan *plan)
{
	return (uint32_t)node_part_count(plan->source->tree, NODES_PER_DISTRICT);
}

/*
 * Counts for a format, unless that is what was counted last, and makes it plan->format: fills in plan->space,
 * data_bytes, the placements' blocks, the directories' layouts and the xattr stores. The problem names the first
 * directory that cannot be laid out, or else the first node that cannot be stored (too large, too many links, an xattr
 * too long), the same for any number of threads.
 */
MUST_CHECK errcode_t space_estimate_count(struct plan *plan, struct pool *pool, const struct ondisk_format *format,
                                          uint32_t blocks_per_group, struct problem *problem);

/* Frees what counting filled in; the next time it counts anew. */
void space_estimate_release(struct plan *plan);
