/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filesystem's clusters as threads under test see them: who has each one, so that a double allocation is seen at
 * once, and how many are certainly free. A thread that takes credits before it allocates must not be refused.
 */
#pragma once

#include <stdint.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"

struct space {
	uint64_t first_block;
	unsigned int cluster_bits;
	uint64_t clusters;
	_Atomic uint8_t *owners; /* 0: free */
	_Atomic int64_t credits; /* free clusters that nobody counts on; what waits for a commit is not among them */
};

/* As the image's bitmaps are on disk. */
void space_open(struct space *space, ext2_filsys fs);
void space_close(struct space *space);

/* Up to `most` of the credits; 0 when there are none. */
int64_t space_take_credits(_Atomic int64_t *credits, int64_t most);

/* The test fails unless all of the extent had the one owner. */
void space_change(struct space *space, const struct ext2mb_extent *extent, uint8_t before, uint8_t after);

/* The test fails unless the bitmaps on disk agree. */
void space_compare_with_disk(const struct space *space);
