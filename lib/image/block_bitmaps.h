/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block bitmaps of groups, those that lie side by side with one read. */
#pragma once

#include "image/volume.h"

/* Valid while it is shown. */
struct block_bitmap {
	uint32_t group;
	const uint64_t *bits; /* of its clusters, in host order: set where in use; NULL: cannot be had */
	/*
	 * Why not, or how it differs from what else is known of the group, as now and then in a filesystem that is in
	 * use. A literal; NULL: it is right, or the descriptor is doubtful, of which volume_check_descriptors() tells.
	 */
	const char *wrong;
};

typedef void (*block_bitmap_function)(void *context, const struct block_bitmap *bitmap);

/*
 * Shows those of the groups from first to before end, in order. buffer has room for a block for each of them. What was
 * never written is made: it has the filesystem's own metadata in use. Any thread.
 */
void block_bitmaps_read(const struct volume *volume, uint32_t first, uint32_t end, uint64_t *buffer,
                        block_bitmap_function function, void *context);
