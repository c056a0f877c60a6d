/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A range of blocks from which free ones are taken in ascending order, packed. */
#pragma once

#include <stdint.h>

#include "ext2fs/ext2mb.h"
#include "support/problem.h"

struct pack_range {
	struct ext2mb_worker *worker; /* NULL: nothing is taken, what is free is passed by, to see where that leads */
	uint64_t next;
	uint64_t limit; /* the first block after the range; 0: it ends with the filesystem */
	/* Where nothing is taken: */
	struct ext2mb *mb;
	struct ext2mb_extent free; /* the rest of the free extent at next; 0 blocks: it is to be asked for */
};

/* Takes up to so many blocks, whole clusters, that are free in one piece. EXT2MB_ET_NO_SPACE: there are none left. */
MUST_CHECK errcode_t pack_range_take(struct pack_range *range, uint64_t blocks, struct ext2mb_extent *extent);
