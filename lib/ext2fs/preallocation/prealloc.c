// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/prealloc.h"

#include <stdbool.h>

/* The kernel's mb_stream_req and mb_group_prealloc. */
#define SMALL_FILE_BLOCKS 16u
#define SMALL_WINDOW_BLOCKS 512u
#define SMALL_WINDOW_LEAST 32u /* clusters */

static uint32_t small_window(uint32_t asked_blocks, uint64_t stripe, const struct geometry *geometry)
{
	uint64_t clusters = (asked_blocks ? asked_blocks : SMALL_WINDOW_BLOCKS) >> geometry->cluster_bits;

	if (clusters < SMALL_WINDOW_LEAST)
		clusters = SMALL_WINDOW_LEAST;
	if (stripe)
		clusters = (clusters + stripe - 1) / stripe * stripe;
	return clusters < geometry->clusters_per_group ? (uint32_t)clusters : geometry->clusters_per_group;
}

errcode_t prealloc_set(struct prealloc *prealloc, const struct ext2mb_options *options, const struct geometry *geometry,
                       uint32_t stripe_clusters)
{
	static const struct ext2mb_options defaults = { 0 };

	if (!options)
		options = &defaults;
	if ((unsigned int)options->normalization > EXT2MB_NORMALIZE_NONE ||
	    (unsigned int)options->small_windows > EXT2MB_SMALL_NONE)
		return EXT2MB_ET_BAD_ARGUMENT;
	bool is_kernel = options->policy != EXT2MB_POLICY_EXT2MB;
	*prealloc = (struct prealloc){
		.normalization = options->normalization,
		.small_windows = options->small_windows,
		.small_file_blocks = options->small_file_blocks ? options->small_file_blocks : SMALL_FILE_BLOCKS,
		.small_window = small_window(options->small_window_blocks, stripe_clusters, geometry),
	};
	if (!prealloc->normalization)
		prealloc->normalization = is_kernel ? EXT2MB_NORMALIZE_TABLE : EXT2MB_NORMALIZE_EXT2MB;
	if (!prealloc->small_windows)
		prealloc->small_windows = is_kernel ? EXT2MB_SMALL_THREAD : EXT2MB_SMALL_DIRECTORY;
	return 0;
}
