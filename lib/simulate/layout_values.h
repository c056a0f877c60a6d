/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that say what a filesystem and its files look like, as e2freefrag, filefrag and e4defrag -c count. */
#ifndef SIMULATE_LAYOUT_VALUES_H
#define SIMULATE_LAYOUT_VALUES_H

#include "simulate/workload.h"

/*
 * Adds extents per file, their average size and the fragmentation score of all files of the image, and the number of
 * free extents and their average size. section as in struct result_value. Errors of reading bitmaps.
 */
MUST_CHECK errcode_t layout_values_add(struct simulation *simulation, const char *section);

#endif
