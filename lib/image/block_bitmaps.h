/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the block bitmaps of groups, adjacent ones with one read. */
#pragma once

#include "image/volume.h"

/* Valid during the call that shows it. */
struct block_bitmap {
	uint32_t group;
	const uint64_t *bits; /* a bit for each cluster, in host order, set if it is in use; NULL: unreadable */
	/*
	 * The reason why it is unreadable, or its difference from the group's descriptor; a filesystem in use may have
	 * one for a while. A literal; NULL: it is right, or the descriptor is doubtful, which
	 * volume_check_descriptors() reports.
	 */
	const char *wrong;
};

typedef void (*block_bitmap_function)(void *context, const struct block_bitmap *bitmap);

/*
 * Shows the bitmaps of the groups from first to before end, in order. buffer has room for a block for each of them. A
 * bitmap that was never written is computed: the filesystem's own metadata is in use. Any thread.
 */
void block_bitmaps_read(const struct volume *volume, uint32_t first, uint32_t end, uint64_t *buffer,
                        block_bitmap_function function, void *context);
