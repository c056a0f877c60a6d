/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images that the overview's workloads run on: a new one, one that is half full, and one that is old. What tells
 * two policies apart on an empty disk may tell them apart the other way round on an old one (see workloads/age.c).
 */
#pragma once

#include <stdio.h>

#include "analyze/report/report.h"
#include "populate/output/output.h"
#include "simulate/run/measurement.h"

#define OVERVIEW_DISKS 3 /* the first one is fresh */
#define OVERVIEW_HALF_FULL 1

struct overview_disk {
	char *path; /* what it is called; owned */
	struct output output;
	struct report_filesystem filesystem; /* what it is once it is made; path and device of it are not kept */
	uint64_t free_blocks, free_extents;
};

struct overview_disks {
	unsigned int count; /* of those that were begun */
	struct overview_disk list[OVERVIEW_DISKS];
};

/*
 * Makes all of them in the directory, sparse; they never get their names. The caller calls overview_disks_close() in
 * any case. EEXIST: one of the names is there. Main thread.
 */
MUST_CHECK errcode_t overview_disks_make(struct overview_disks *disks, const char *directory, const char *size,
                                         uint64_t seed, struct progress *progress, struct problem *problem);
void overview_disks_close(struct overview_disks *disks);

/* What each is, and how a reader makes the same one, in Markdown. */
void overview_disks_print(const struct overview_disks *disks, FILE *stream, const char *size);

/* "fresh", "half full", "aged". */
const char *overview_disk_title(unsigned int disk);

/*
 * One value of all configurations, and of all sections where it has some, with a column for each disk. What was
 * measured on a disk has the order of simulate(), one thread. Errors stay in the stream.
 */
void overview_disks_table(FILE *stream, const char *key, const struct simulate_options *options,
                          struct measurement *const on_disk[OVERVIEW_DISKS]);
