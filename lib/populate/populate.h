/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a directory to an ext4 image: format (mke2fs), plan (numbers and extents of everything), copy (data),
 * seal (directories, inodes, bitmaps, descriptors, superblock).
 *
 * The contract: equal sources and options give equal bytes, whatever the number of threads, the host's order
 * of names, its inode numbers or access times.
 */
#pragma once

#include "populate/build/options.h"
#include "populate/build/report.h"
#include "source/kind/run_files.h"
#include "support/problem.h"

/*
 * Builds the image. A new file is built under a temporary name beside it and renamed when it is whole;
 * after a failure (EINTR: a signal, see support/run/interrupt.h) it is removed and what was there is untouched.
 * What is written in place has no superblock after a failure. Main thread only. The problem names the path
 * concerned. files gets what is read and written; it may be NULL.
 */
MUST_CHECK errcode_t populate(const struct populate_options *options, struct run_files *files,
                              struct populate_report *report, struct problem *problem);

/*
 * Adds to files what populate() would read and write, and makes nothing. Folders are scanned, no archive or image is
 * read. Errors of the sources that cannot be seen.
 */
MUST_CHECK errcode_t populate_look(const struct populate_options *options, struct run_files *files,
                                   struct problem *problem);

extern const char *const populate_stage_names[POPULATE_STAGES];

/* Frees what a report owns, also after a failure. */
void populate_report_clear(struct populate_report *report);
