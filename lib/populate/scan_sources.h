/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be built, known before anything is formatted. */
#pragma once

#include "populate/build/report.h"
#include "populate/build/scanned.h"
#include "populate/build/workplace.h"

/*
 * Fills in what the source has, and what the sources gave to the report. in_place: the image is written where it is,
 * see output/output.h. files gets the sources that are read; it may be NULL. What was filled in is to be
 * released also after a failure.
 */
MUST_CHECK errcode_t scan_sources(struct scanned *scanned, bool in_place, const struct workplace *work,
                                  struct run_files *files, struct populate_report *report);

/* Adds to files what scan_sources() would read of the sources; archives and images are not opened. */
MUST_CHECK errcode_t scan_sources_look(const struct populate_options *options, struct run_files *files,
                                       struct pool *pool, struct problem *problem);
