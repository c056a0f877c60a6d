/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks of a node are to be mapped: of a regular file its data rounded out to whole clusters, what is
 * preallocated, and what protects it, which ends with a block of its own, for Linux looks for it there. Pure.
 */
#pragma once

#include "ondisk/format.h"
#include "ondisk/verity.h"
#include "tree/tree.h"

struct block_runs {
	const struct ondisk_format *format;
	const struct tree_node *node;
	uint64_t file_blocks;  /* from its beginning to its end */
	uint64_t added_start;  /* of the blocks beyond the file's end that fs-verity needs */
	uint64_t added_end;    /* as added_start: there are none, or they have been given */
	uint32_t next_segment; /* of the data map; of a file without one: 1 when its only run has been given */
	const struct tree_unwritten *unwritten; /* what is preallocated; NULL: nothing */
	uint32_t next_unwritten;
	uint64_t given_end; /* of all that has been given */
	bool has_data;      /* the next run of data is known: */
	uint32_t data_start, data_blocks;
	bool is_unwritten; /* the run that was given last */
};

/* A walk over a regular file whose size the filesystem can hold. */
void block_runs_start(struct block_runs *runs, const struct ondisk_format *format, const struct tree_node *node);

/* Adds the blocks that protect it, before the first call of block_runs_next(). */
void block_runs_protect(struct block_runs *runs, const struct verity_place *place);

/*
 * Returns the parts of a regular file that are preallocated and stay so; NULL: none. Only maps of extents can say it,
 * and none of a filesystem whose clusters are longer than an unwritten extent.
 */
const struct tree_unwritten *block_runs_unwritten(const struct ondisk_format *format, const struct tree *tree,
                                                  uint32_t node);

/*
 * The next run of blocks, ascending, and touching only one of another kind; begins at a cluster's first block. A
 * cluster that has data is one of data. False: no more.
 */
bool block_runs_next(struct block_runs *runs, uint32_t *logical, uint32_t *blocks);
