/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of zeros found while copying: noted by each worker. They keep their place, since a hole that is made when all
 * is placed leaves a free extent of its size and cuts the file in two. Those are made in
 * populate/data/zero_detection.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ondisk/format.h"
#include "support/problem.h"

/* Blocks of a node that hold only zeros. */
struct zero_run {
	uint32_t node;
	uint32_t logical;
	uint32_t blocks;
};

/* One worker's findings, in any order. */
struct zero_runs {
	struct zero_run *runs; /* owned; freed with free() */
	size_t count, capacity;
	uint64_t blocks; /* of all runs, once they are sorted */
};

/*
 * Looks through `bytes` bytes of a file's data that begin at block `logical`, the first of a cluster, in
 * steps of a cluster, and notes those that hold only zeros. The bytes up to the end of the last block count. ENOMEM.
 */
MUST_CHECK errcode_t zero_runs_find(const struct ondisk_format *format, uint32_t node, uint32_t logical,
                                const void *bytes, size_t count, struct zero_runs *list);

/* True if all bytes are zero; the usual answer, no, costs one load. */
bool bytes_are_zero(const void *bytes, size_t count);

/* Moves what is in the list to the end of `all`. ENOMEM: both are as they were. */
MUST_CHECK errcode_t zero_runs_join(struct zero_runs *all, struct zero_runs *list);

/* Puts the runs in the order of nodes and blocks, so that it does not matter which worker found what. */
void zero_runs_sort(struct zero_runs *list);
