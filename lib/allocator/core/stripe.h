/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stripe of a RAID. An extent whose length is a multiple of the stripe should begin at a multiple of it, in
 * filesystem blocks, so that whole stripes are written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ondisk/geometry.h"

struct stripe {
	uint32_t blocks;   /* 0: none */
	uint32_t clusters; /* the same */
	bool fits_buddies; /* a buddy that is no shorter than a stripe begins with one */
};

/* A stripe of this many blocks; none, if the allocator cannot use it. */
struct stripe stripe_of(uint32_t blocks, const struct geometry *geometry);

static inline bool stripe_divides(const struct stripe *stripe, uint32_t clusters)
{
	return stripe->clusters && clusters % stripe->clusters == 0;
}

/* The first cluster of the group, at or after `cluster`, that begins a stripe. It may lie after the group's end. */
static inline uint32_t stripe_next(const struct stripe *stripe, const struct geometry *geometry, uint32_t group,
                                   uint32_t cluster)
{
	uint64_t behind = geometry_block(geometry, group, cluster) % stripe->blocks;

	return cluster + (behind ? (uint32_t)geometry_to_clusters(geometry, stripe->blocks - behind) : 0);
}
