/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by scanning and cutting of maps, private to this folder; callers use map_scan.h and map_cut.h. */
#pragma once

#include "ondisk/map_scan.h"

#define MAP_DIRECT_BLOCKS 12 /* numbers in i_block that are of data; after them come one of each of three levels */
#define MAP_INDIRECT_LEVELS 3
#define MAP_LOGICAL_END (UINT64_C(1) << 32) /* no file has a block after that */

/* The parts of map_scan(): an extent tree's node, whose entries lie in [scan->next, end), and what a number of an
 * indirect map points to, which is not 0: data at level 0. */
MUST_CHECK errcode_t map_scan_node(struct map_scan *scan, const void *bytes, size_t byte_count, int depth,
                                   uint64_t end);
MUST_CHECK errcode_t map_scan_indirect(struct map_scan *scan, uint64_t block, unsigned int level, uint64_t logical);

/* Reads a block of the map into the caller's memory and checks it: one that an inode may own, an extent tree's node
 * with the right checksum. Counts it. EUCLEAN, errors in reading. */
MUST_CHECK errcode_t map_scan_read(struct map_scan *scan, uint64_t block, void *bytes);
MUST_CHECK errcode_t map_scan_read_node(struct map_scan *scan, uint64_t block, void *bytes);

/* How many blocks a number at this level leads to. */
uint64_t map_indirect_span(const struct ondisk_format *format, unsigned int level);
