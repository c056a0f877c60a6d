/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures how much processor time others used during a measurement. One thread, beside those that are measured. */
#pragma once

#include <stdbool.h>

/* The state at the beginning. */
struct load {
	double seconds;           /* CLOCK_MONOTONIC */
	double processor_seconds; /* of this process */
	double busy_seconds; /* of all of the machine's processors, with time stolen by its host; negative: unknown */
};

struct load load_begin(void);

/*
 * The average number of processors that other programs, the kernel and the host have used since then; negative:
 * unknown. Linux counts hundredths of a second, so it is also unknown for less than LOAD_LEAST_SECONDS.
 */
double load_others(const struct load *begin);

#define LOAD_LEAST_SECONDS 0.2

/* Whether that load took processors from `threads` threads (0: one), given the processors online. */
bool load_disturbs(double others, unsigned int threads, unsigned int online);
