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

/* Frees what simulate() has made, and the array. */
void measurements_free(const struct simulate_options *options, struct measurement *measurements, size_t count);

/* The workloads that there are. */
extern const struct workload age_workload;
extern const struct workload append_workload;
extern const struct workload creat_clo_workload;
extern const struct workload fallocate2_workload;
extern const struct workload normalize_workload;
extern const struct workload replay_workload;
extern const struct workload truncate_workload;
extern const struct workload unlink_workload;

/* All of them; NULL after the last one. */
const struct workload *workload_get(unsigned int index);

/* NULL: no workload has that name. */
const struct workload *workload_find(const char *name);

bool workload_has_option(const struct workload *workload, const char *name);

/* The setting of the option of that name, which the workload has. */
struct setting *workload_setting(const struct workload *workload, struct setting *settings, const char *name);

/* Sets each of the workload's settings to what it presets. */
void workload_preset(const struct workload *workload, struct setting *settings);

/* With these an image is half full, and hardly old. */
#define SIMULATE_HALF_FULL_FILL 50
#define SIMULATE_HALF_FULL_CHURN 1

/*
 * Makes the image of the options old, before anything is measured on it: as the workload `age` does it with what it
 * presets, under the policy of Linux; with another `fill` (percent) and `churn` where they are not 0. The image is
 * written. Main thread.
 */
MUST_CHECK errcode_t simulate_age(const struct simulate_options *options, unsigned int fill, unsigned int churn,
                                  struct problem *problem);
