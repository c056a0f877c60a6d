/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking free blocks in ascending order, through libext2mb. One thread at a time has a range. */
#pragma once

#include "ext2fs/ext2mb.h"
#include "support/problem.h"

/* A range of blocks from which free ones are taken in ascending order, packed. */
struct pack_range {
	struct ext2mb_worker *worker; /* NULL: nothing is taken, what is free is passed by, to see where that leads */
	uint64_t next;
	uint64_t limit;    /* the first block after the range; 0: it ends with the filesystem */
	struct ext2mb *mb; /* where nothing is taken */
	struct ext2mb_extent
		free; /* the rest of the free extent at next, which a worker has taken; 0 blocks: there is none */
};

/* Takes up to so many blocks, whole clusters, that are free in one piece. EXT2MB_ET_NO_SPACE: there are none left. */
MUST_CHECK errcode_t pack_range_alloc(struct pack_range *range, uint64_t blocks, struct ext2mb_extent *extent);

/* Frees the rest of a range with a limit; it is available after the next commit. */
MUST_CHECK errcode_t pack_range_end(struct pack_range *range);
