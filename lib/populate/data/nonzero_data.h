/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of a file that are no zeros, as known_holes.h's functions gather them. */
#ifndef POPULATE_NONZERO_DATA_H
#define POPULATE_NONZERO_DATA_H

#include "populate/build.h"

/* Ascending segments of the file. */
struct nonzero_data {
	struct tree_segment *segments;
	uint64_t *stored_starts; /* of files of archives: where each stands there */
	size_t count, capacity, stored_capacity;
};

/* ENOMEM. */
MUST_CHECK errcode_t nonzero_data_add(struct nonzero_data *data, uint64_t start_bytes, uint64_t end_bytes,
                                      uint64_t stored_start);

void nonzero_data_free(struct nonzero_data *data);

/*
 * Makes them the node's only data; all else becomes holes and is counted in build->known_zero_bytes. ENOMEM. Main
 * thread only.
 */
MUST_CHECK errcode_t nonzero_data_keep(struct build *build, uint32_t node, const struct nonzero_data *data);

/* Where the bytes of one of the node's own segments stand in its archive; 0 for files of the host. */
uint64_t nonzero_data_stored_start(const struct build *build, uint32_t node, uint32_t segment);

#endif
