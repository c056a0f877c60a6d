/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zeros found while copying: noted by each worker, made holes when all is copied. */
#ifndef POPULATE_ZEROS_H
#define POPULATE_ZEROS_H

#include "populate/build.h"

/* Blocks of a node that hold only zeros. */
struct zero_run {
	uint32_t node;
	struct block_run run;
};

/* One worker's findings, in any order. */
struct zero_list {
	struct zero_run *runs;
	size_t count, capacity;
};

/*
 * Looks through `bytes` bytes of a file's data that begin at block `logical`, the first of a cluster, in
 * steps of a cluster, and notes those that hold only zeros. The bytes up to the end of the last block count.
 * *found: how many blocks.
 */
MUST_CHECK errcode_t zeros_find(const struct ondisk_format *format, uint32_t node, uint32_t logical,
                                const void *bytes, size_t count, struct zero_list *list, uint64_t *found);

/* True if all bytes are zero; the usual answer, no, costs one load. */
bool bytes_are_zero(const void *bytes, size_t count);

/* Makes all that was found holes. The lists are sorted and joined, so that the result does not depend on who found what. */
MUST_CHECK errcode_t zeros_punch(struct build *build, struct zero_list *lists, unsigned int list_count);

#endif
