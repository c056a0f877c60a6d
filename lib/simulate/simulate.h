/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs one workload on one image, with one configuration and number of threads, or with several that are compared. */
#pragma once

#include "simulate/run/measurement.h"

/*
 * Runs the workload with each configuration and each number of threads, each time on the image as on disk; a repeat
 * measures all of them again. *ret gets the measurements in that order; the caller frees it. A single run is written
 * to the image in the end, several are not. EINTR when a signal arrived. Main thread.
 */
MUST_CHECK errcode_t simulate(const struct simulate_options *options, struct measurement **ret, size_t *count,
                              struct problem *problem);

/* Frees the measurements of simulate(), and the array. */
void measurements_free(const struct simulate_options *options, struct measurement *measurements, size_t count);

/* All workloads. */
extern const struct workload age_workload;
extern const struct workload append_workload;
extern const struct workload creat_clo_workload;
extern const struct workload fallocate2_workload;
extern const struct workload normalize_workload;
extern const struct workload replay_workload;
extern const struct workload truncate_workload;
extern const struct workload unlink_workload;

/* Returns a workload by index; NULL after the last one. */
const struct workload *workload_get(unsigned int index);

/* Returns NULL if no workload has that name. */
const struct workload *workload_find(const char *name);

bool workload_has_option(const struct workload *workload, const char *name);

/* Returns the setting of the option of that name, which must exist. */
struct setting *workload_setting(const struct workload *workload, struct setting *settings, const char *name);

/* Sets each of the workload's settings to its default. */
void workload_preset(const struct workload *workload, struct setting *settings);

/* Values for an image that is half full and hardly aged. */
#define SIMULATE_HALF_FULL_FILL 50
#define SIMULATE_HALF_FULL_CHURN 1

/*
 * Ages the image of the options before a measurement, by the workload `age` with its defaults, under the policy of
 * Linux; `fill` (percent) and `churn` replace the defaults if they are not 0. The image is written. Main thread.
 */
MUST_CHECK errcode_t simulate_age(const struct simulate_options *options, unsigned int fill, unsigned int churn,
                                  struct problem *problem);
