/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that say what a filesystem and its files look like, as e2freefrag, filefrag and e4defrag -c count. */
#pragma once

#include "simulate/run/workload.h"

/*
 * Adds extents per file, their average size and the fragmentation score of the files of a set and its subdirectories
 * (NULL: there is none), and the number of free extents, their average and their median size. section as in struct
 * result_value. All windows are given back. ENOMEM, errors of reading bitmaps.
 */
MUST_CHECK errcode_t layout_values_add(struct simulation *simulation, const char *section, const struct file_set *set);
