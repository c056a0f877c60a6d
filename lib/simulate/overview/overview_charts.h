/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts of what was measured. */
#pragma once

#include "simulate/run/measurement.h"

struct overview_chart {
	const char *name;  /* of the file: allocsim-NAME.svg; NULL after the last one */
	const char *title; /* says where the values come from */
	const char *key;   /* of the values; sections and numbers of threads become groups of bars */
	bool is_logarithmic;
	bool has_two_kinds; /* the second half of the configurations are those of the first, with something added */
	bool is_online;     /* only for as many threads as there are processors, or the next less */
};

/* Writes one into the directory. ENOMEM, errors of writing, which name the file in the problem. */
MUST_CHECK errcode_t overview_chart_write(const char *directory, const struct overview_chart *chart,
                                          const struct simulate_options *options,
                                          const struct measurement *measurements, struct problem *problem);
