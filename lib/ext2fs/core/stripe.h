/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stripe of a RAID: what is a multiple of it in length should begin at a multiple of it, counted in the
 * filesystem's blocks, so that whole stripes are written.
 */
#ifndef EXT2FS_STRIPE_H
#define EXT2FS_STRIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/ext2mb.h"
#include "ext2fs/fs/fs_state.h"

struct stripe {
	uint32_t blocks;   /* 0: none */
	uint32_t clusters; /* the same */
	bool fits_buddies; /* a buddy that is no shorter than a stripe begins with one */
};

/* What the options say, else the superblock's stripe width or, if that is of no use, its stride. options may be NULL. */
struct stripe stripe_choose(const struct ext2mb_options *options, const struct fs_state *state);

static inline bool stripe_divides(const struct stripe *stripe, uint32_t clusters)
{
	return stripe->clusters && clusters % stripe->clusters == 0;
}

/* The first cluster of the group, at or after this one, that begins a stripe. It may lie behind the group's end. */
static inline uint32_t stripe_next(const struct stripe *stripe, const struct geometry *geometry, uint32_t group,
                                   uint32_t cluster)
{
	uint64_t behind = geometry_block(geometry, group, cluster) % stripe->blocks;

	return cluster + (behind ? (uint32_t)((stripe->blocks - behind) >> geometry->cluster_bits) : 0);
}

#endif
