/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * With --keep-hidden: what upper layers hide of a layer stays in its place, as free blocks. Then all that survives of
 * the layer has the distances that it has in its pack, and the image can share the pack in one piece.
 *
 * Only contents that fill blocks (tree/contents.h) have such distances, in filesystems with blocks of the same size and
 * without clusters.
 */
#pragma once

#include "populate/build/plan.h"
#include "tree/contents.h"

/* A walk over contents in the order in which they are placed. */
struct hidden_gaps {
	const struct plan *plan;
	struct content_reader *reader; /* NULL: there are no gaps */
	struct problem *problem;       /* of the walk */
	int descriptor;                /* the file that holds the last contents; -1: there is none */
	uint64_t end_bytes;            /* where they end there */
};

/* ENOMEM. To be closed even after a failure. */
MUST_CHECK errcode_t hidden_gaps_open(struct hidden_gaps *gaps, const struct plan *plan, struct problem *problem);
void hidden_gaps_close(struct hidden_gaps *gaps);

/*
 * Finds how many blocks of hidden contents come before these blocks of a file, and moves on to their end. Errors of
 * content_reader_open().
 */
MUST_CHECK errcode_t hidden_gaps_before(struct hidden_gaps *gaps, uint32_t node, uint32_t logical, uint32_t count,
                                        uint64_t *blocks);

/* Counts the blocks of all gaps, in the plan's format. */
MUST_CHECK errcode_t hidden_gaps_count(const struct plan *plan, uint64_t *blocks, struct problem *problem);
