/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e2populate prints: a report of what was built, or one message. */
#pragma once

#include <stdio.h>

#include "populate/build/options.h"
#include "populate/build/report.h"

/* On standard output, for people. */
void report_print(const char *image, const struct populate_report *report);

/* The same and more as one JSON object, whose keys are those of e2populate(8). */
MUST_CHECK errcode_t report_print_json(const struct populate_options *options, const struct populate_report *report);

/*
 * After all reports: writes what was printed. If that fails, or error says that it has failed, one message on standard
 * error says so, and that the image is there all the same; the error is returned.
 */
MUST_CHECK errcode_t report_end(const struct populate_options *options, errcode_t error);

/* Only how large the image would be. */
void report_print_size(const char *image, const struct populate_report *report);

/* All that was written to a file, to a stream: what mke2fs has said. */
void report_print_file(int descriptor, FILE *stream);

/* On standard error, a line each. */
void report_warnings(const struct warnings *warnings);
