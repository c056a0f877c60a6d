/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Short free runs first: what files that grow by little get where the free space is in pieces. Runs that are longer
 * than policy.short_run_kib are kept until nothing else is free. doc/PREALLOC.md says why.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/allocator.h"

/*
 * Of our own policy: 1120 blocks of 4 KiB. doc/results/aged.md has what others make of it: more extents a file with
 * less, more free extents with more.
 */
#define SHORT_RUN_KIB 4480u

struct short_run_request {
	uint64_t stream; /* whose goal says where to begin among the long runs */
	uint32_t least;  /* clusters: shorter runs are no use */
	uint32_t most;   /* clusters that are taken of a run; of a shorter one all */
};

/*
 * Whether short runs are to be used up first: there is no group whose free runs are half a group long on average. That
 * is one look at the index, but for groups that are not loaded yet: what cannot be told without their bitmaps loads
 * them, each once. Any thread; a hint.
 */
bool short_runs_are_first(struct ext2mb *mb);

/*
 * Takes a run for a preallocation, from the first group on: a short one; where there is none, any but the longest of a
 * group; at last one of a group whose longest is the shortest of all, by its order. Groups that are busy are passed
 * over: it is only a preference. EXT2MB_ET_NO_SPACE.
 */
MUST_CHECK errcode_t short_runs_take(struct ext2mb_worker *worker, const struct short_run_request *request,
                                     uint64_t *position, uint32_t *taken);
