/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that are counted when a workload has run: what lies where, and what the allocator did. */
#pragma once

#include "simulate/streams/streams.h"

/*
 * Adds what e2freefrag, filefrag and e4defrag -c count: extents per file, their average size and the fragmentation
 * score of the files of a set and its subdirectories (NULL: there is none), and the number of free extents, their
 * average and their median size. section as in struct result_value. All windows are given back. ENOMEM, errors of
 * reading bitmaps.
 */
MUST_CHECK errcode_t layout_values_add(struct simulation *simulation, const char *section, const struct file_set *set);

/* The same of the free space alone. */
MUST_CHECK errcode_t space_values_add(struct simulation *simulation, const char *section);

/*
 * What a RAID has to read before it can write: stripes of which an extent covers a part only. How many there are if the
 * files of a set and its subdirectories are written extent by extent; extents that lie side by side in a file are one.
 * stripe_blocks: not 0.
 */
uint64_t partial_stripes(const struct file_set *set, uint32_t stripe_blocks);

/*
 * Adds what the allocator counts, what was found where and who stood in whose way, and what the streams waited for.
 * Errors of ext2mb_read_stats().
 */
MUST_CHECK errcode_t allocator_values_add(struct simulation *simulation, const struct streams_cost *cost);
