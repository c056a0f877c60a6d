/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of several files that lie side by side in one file of the source, as in the pack of a layer, and go to
 * blocks side by side: they are moved together, whatever the number of files. Sharing the blocks of a run is one call
 * of the kernel. Blocks that cannot be shared are copied in large pieces.
 *
 * Only contents that fill blocks (tree/contents.h) are in runs, and only what needs no look at its bytes: no zeros are
 * searched for, and no hashes are made of it. The other files are for populate/data/copy.h.
 */
#pragma once

#include "output/image_sink.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

struct content_run {
	uint32_t node;       /* the first file, for messages */
	uint32_t files;      /* how many begin in it */
	int descriptor;      /* of the source */
	uint64_t from_bytes; /* where it begins there */
	uint64_t start;      /* its first block */
	uint64_t blocks;
	bool is_moved;
};

/* Zero-initialise. */
struct content_runs {
	struct content_run *list; /* owned */
	size_t count, capacity;
	bool *has_node;      /* by node: all of its contents are in runs; NULL: those of none are. Owned */
	uint64_t files;      /* in runs */
	uint64_t data_bytes; /* of these files */
	errcode_t refusal;   /* why the last of their filesystems shares no blocks with the image; 0: it does */
};

/* Finds all runs, in the order in which contents are placed. Serial: 0.1 us a file. Errors name a file of the source.
 */
MUST_CHECK errcode_t content_runs_find(const struct plan *plan, struct content_runs *runs, struct problem *problem);

/* Moves them. *shared_bytes: of contents in blocks that the image shares now. Errors of sharing, reading and writing.
 */
MUST_CHECK errcode_t content_runs_move(const struct plan *plan, struct image_file *file, const struct workplace *work,
                                       struct content_runs *runs, uint64_t *shared_bytes);

void content_runs_free(struct content_runs *runs);
