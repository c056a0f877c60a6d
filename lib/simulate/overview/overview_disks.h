/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images of the overview: a new one, one that is half full, and an old one. The better of two policies on an
 * empty disk may be the worse on an old one (see workloads/age.c).
 */
#pragma once

#include <stdio.h>

#include "analyze/report/report.h"
#include "output/output.h"
#include "simulate/run/measurement.h"

#define OVERVIEW_DISKS 3 /* the first one is fresh */
#define OVERVIEW_HALF_FULL 1

struct overview_disk {
	char *path; /* its name; owned */
	struct output output;
	struct report_filesystem filesystem; /* of the finished image, without path and device */
	uint64_t free_blocks, free_extents;
};

struct overview_disks {
	unsigned int count; /* of disks that were begun */
	struct overview_disk list[OVERVIEW_DISKS];
};

/*
 * Makes all disks in the directory, as sparse files with temporary names. The caller calls overview_disks_close() in
 * any case. EEXIST: one of the final names exists. Main thread.
 */
MUST_CHECK errcode_t overview_disks_make(struct overview_disks *disks, const char *directory, const char *size,
                                         uint64_t seed, struct progress *progress, struct problem *problem);
void overview_disks_close(struct overview_disks *disks);

/* Prints in Markdown what each disk is, and how a reader makes the same one. */
void overview_disks_print(const struct overview_disks *disks, FILE *stream, const char *size);

/* "fresh", "half full", "aged". */
const char *overview_disk_title(unsigned int disk);

/*
 * Prints one value of all configurations, and of all sections if it has any, with a column for each disk. The
 * measurements of a disk are in the order of simulate(), without threads. Errors stay in the stream.
 */
void overview_disks_table(FILE *stream, const char *key, const struct simulate_options *options,
                          struct measurement *const on_disk[OVERVIEW_DISKS]);
