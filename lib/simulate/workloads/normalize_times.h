/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of a modelled disk for the steps of the workload normalize: see results/disk_time.h. */
#pragma once

#include "simulate/image/file_set.h"
#include "simulate/image/image.h"
#include "simulate/results/disk_time.h"

/* Bytes of a file in a turn if several files are read or written in turn. */
#define NORMALIZE_TURN_BYTES (1u << 20)

/* Writes no data, only the bitmap of each group with blocks of the set's files. ENOMEM. */
MUST_CHECK errcode_t normalize_time_bitmaps(struct disk_time *disk, const struct image *image,
                                            const struct file_set *set);

/*
 * Reads all data of trees (the subdirectories of `trees`) or archives (one file of `archives` for each; NULL: none)
 * and writes it to the other, all pairs in turn, a file of the tree at a time. ENOMEM.
 */
MUST_CHECK errcode_t normalize_time_trees(struct disk_time *disk, const struct file_set *trees,
                                          const struct file_set *archives, bool to_archives);

/* Writes the files of the set concurrently, in turns. ENOMEM. */
MUST_CHECK errcode_t normalize_time_files(struct disk_time *disk, const struct file_set *set);
