// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/preallocation_options.h"

/* The kernel's mb_stream_req and mb_group_prealloc. */
#define SMALL_FILE_BLOCKS 16u
#define SMALL_WINDOW_BLOCKS 512u
#define SMALL_WINDOW_LEAST 32u /* clusters */

static uint32_t small_window(uint32_t asked_blocks, uint64_t stripe, const struct geometry *geometry)
{
	uint64_t clusters = geometry_to_clusters(geometry, asked_blocks ? asked_blocks : SMALL_WINDOW_BLOCKS);

	if (clusters < SMALL_WINDOW_LEAST)
		clusters = SMALL_WINDOW_LEAST;
	if (stripe)
		clusters = (clusters + stripe - 1) / stripe * stripe;
	return clusters < geometry->clusters_per_group ? (uint32_t)clusters : geometry->clusters_per_group;
}

errcode_t preallocation_options_set(struct ext2mb *mb, const struct ext2mb_options *options)
{
	if ((unsigned int)options->normalization > EXT2MB_NORMALIZE_NONE ||
	    (unsigned int)options->locality > EXT2MB_LOCALITY_NONE)
		return EXT2MB_ET_BAD_ARGUMENT;
	*mb->prealloc = (struct preallocation_options){
		.normalization = options->normalization ? options->normalization : mb->policy.normalization,
		.locality = options->locality ? options->locality : mb->policy.locality,
		.small_file_blocks = options->small_file_blocks ? options->small_file_blocks : SMALL_FILE_BLOCKS,
		.small_window = small_window(options->group_preallocation_blocks, mb->stripe.clusters, &mb->geometry),
	};
	return 0;
}
