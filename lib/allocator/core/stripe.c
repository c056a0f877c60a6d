/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/core/stripe.h"

/* As in the kernel: a stripe of one block is none; one that is longer than a group or cuts clusters is of no use. */
struct stripe stripe_of(uint32_t blocks, const struct geometry *geometry)
{
	uint64_t group_blocks = geometry_to_blocks(geometry, geometry->clusters_per_group);

	if (blocks <= 1 || blocks > group_blocks ||
	    !geometry_is_whole_clusters(geometry, blocks | geometry->first_block))
		return (struct stripe){ 0 };
	return (struct stripe){
		.blocks = blocks,
		.clusters = (uint32_t)geometry_to_clusters(geometry, blocks),
		.fits_buddies =
			!(blocks & (blocks - 1)) && geometry->first_block % blocks == 0 && group_blocks % blocks == 0,
	};
}
