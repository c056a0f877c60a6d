/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of the processors others used while something was measured. One thread, beside those that it watches. */
#pragma once

#include <stdbool.h>

/* When it began. */
struct load {
	double seconds;           /* CLOCK_MONOTONIC */
	double processor_seconds; /* of this process */
	double busy_seconds; /* of the machine, all processors together, with what its host took; negative: not known */
};

struct load load_begin(void);

/*
 * Processors that other programs, the kernel and the host have used on average since then, 0 or more; negative: not
 * known. Linux counts by hundredths of a second, so for less than LOAD_LEAST_SECONDS it is not known either.
 */
double load_others(const struct load *begin);

#define LOAD_LEAST_SECONDS 0.2

/* Whether that much took processors from so many threads (0: one), which want one each, of those that are online. */
bool load_disturbs(double others, unsigned int threads, unsigned int online);
