/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that are counted after a workload: layouts, and the allocator's statistics. */
#pragma once

#include "simulate/streams/streams.h"

/*
 * Adds what e2freefrag, filefrag and e4defrag -c count: extents per file, their average size and the fragmentation
 * score of the files of a set and its subdirectories (NULL: there is none), and the number of free extents, their
 * average and their median size. section as in struct result_value. All preallocations are discarded. ENOMEM, errors
 * of reading bitmaps.
 */
MUST_CHECK errcode_t layout_values_add(struct simulation *simulation, const char *section, const struct file_set *set);

/* The same only for the free space. */
MUST_CHECK errcode_t space_values_add(struct simulation *simulation, const char *section);

/*
 * Counts stripes that an extent covers only in part, so that a RAID has to read before it writes. The files of a set
 * and its subdirectories are written extent by extent; adjacent extents of a file are one. stripe_blocks is not 0.
 */
uint64_t partial_stripes(const struct file_set *set, uint32_t stripe_blocks);

/*
 * Adds the allocator's counters, of searches and of contention, and the streams' waits. Errors of
 * ext2mb_read_stats().
 */
MUST_CHECK errcode_t allocator_values_add(struct simulation *simulation, const struct streams_cost *cost);
