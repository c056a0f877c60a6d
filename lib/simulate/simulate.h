/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One workload on one image: with one configuration and number of threads, or with several that are compared. */
#pragma once

#include "simulate/run/measurement.h"

/*
 * Runs the workload configuration by configuration, each with each number of threads, each time on the image as it is
 * on disk; repeats alternate, all of one thing being measured after all of another. *ret gets the measurements in that
 * order; the caller frees it. A single run is written to the image in the end, several are not. EINTR when a signal
 * arrived. Main thread.
 */
MUST_CHECK errcode_t simulate(const struct simulate_options *options, struct measurement **ret, size_t *count,
                              struct problem *problem);
