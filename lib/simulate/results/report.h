/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measurements as tables in Markdown or as JSON. */
#pragma once

#include <stdio.h>

#include "simulate/run/measurement.h"

/*
 * Prints tables. For a workload with a `row` and several measurements: that value, configurations by numbers of
 * threads, as in the series' cover letter. Otherwise all values by measurements. Errors stay in the stream.
 */
void report_tables(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                   size_t count);

/* Writes one document. Returns the stream's error. */
MUST_CHECK errcode_t report_json(FILE *stream, const struct simulate_options *options,
                                 const struct measurement *measurements, size_t count);
