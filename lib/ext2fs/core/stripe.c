/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/core/stripe.h"

/* As in the kernel: a stripe of one block is not one, and one is of no use that is longer than a group or cuts clusters.
 */
static bool is_usable(uint32_t blocks, const struct geometry *geometry)
{
	uint64_t cluster_mask = geometry_cluster_blocks(geometry) - 1;
	uint64_t group_blocks = geometry_to_blocks(geometry, geometry->clusters_per_group);

	return blocks > 1 && blocks <= group_blocks && !(blocks & cluster_mask) &&
	       !(geometry->first_block & cluster_mask);
}

struct stripe stripe_of(uint32_t blocks, const struct geometry *geometry)
{
	if (!is_usable(blocks, geometry))
		return (struct stripe){ 0 };

	uint64_t group_blocks = geometry_to_blocks(geometry, geometry->clusters_per_group);
	return (struct stripe){
		.blocks = blocks,
		.clusters = geometry_to_clusters(geometry, blocks),
		.fits_buddies =
			!(blocks & (blocks - 1)) && geometry->first_block % blocks == 0 && group_blocks % blocks == 0,
	};
}
