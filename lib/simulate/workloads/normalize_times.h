/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a modelled disk takes for the steps of the workload normalize: see results/disk_time.h. */
#pragma once

#include "simulate/image/file_set.h"
#include "simulate/image/image.h"
#include "simulate/results/disk_time.h"

/* So much of a file is read or written at once where several take turns. */
#define NORMALIZE_TURN_BYTES (1u << 20)

/* No data: a bitmap for each group that the files of the set are in. ENOMEM. */
MUST_CHECK errcode_t normalize_time_bitmaps(struct disk_time *disk, const struct image *image,
                                            const struct file_set *set);

/*
 * Trees (the subdirectories of `trees`) and one archive of each (the files of `archives`; NULL: there are none). Side
 * by side, file after file of each tree in turn, all data of the one is read, and written to the other. ENOMEM.
 */
MUST_CHECK errcode_t normalize_time_tar(struct disk_time *disk, const struct file_set *trees,
                                        const struct file_set *archives);
MUST_CHECK errcode_t normalize_time_untar(struct disk_time *disk, const struct file_set *trees,
                                          const struct file_set *archives);

/* The files of the set are written side by side, in turns. ENOMEM. */
MUST_CHECK errcode_t normalize_time_files(struct disk_time *disk, const struct file_set *set);
