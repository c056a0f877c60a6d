/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workloads that there are. */
#pragma once

#include "simulate/run/workload.h"

extern const struct workload append_workload;
extern const struct workload creat_clo_workload;
extern const struct workload fallocate2_workload;
extern const struct workload normalize_workload;
extern const struct workload truncate_workload;
extern const struct workload unlink_workload;

/* All of them; NULL after the last one. */
const struct workload *workload_get(unsigned int index);

/* NULL: there is none of that name. */
const struct workload *workload_find(const char *name);
