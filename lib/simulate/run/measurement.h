/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be measured, and what was. */
#pragma once

#include "simulate/run/configuration.h"
#include "simulate/run/workload.h"
#include "simulate/run/machine.h"

struct simulate_options {
	const char *image;
	const char *image_file; /* where it lies while it is not called that yet; NULL: it is */
	const char *input;      /* of a workload that has one */
	const char *directory;  /* that is made in its root; NULL: called as the workload */
	const struct workload *workload;
	const struct setting *settings; /* one for each of the workload's options */
	const struct configuration *configurations;
	size_t configuration_count;
	const unsigned int *threads;
	size_t thread_count;
	unsigned int online_processors; /* reports fit laws to measurements of at most so many threads */
	unsigned int repeats;           /* at least 1; of each measured value the median is taken */
	unsigned int processors;        /* modelled in single-threaded runs */
	const struct machine *machine;  /* that is modelled; then `threads` are processors of it. NULL: none */
	unsigned int cpu_percent;       /* of a processor that each stream may have; 0: no limit */
	bool checksums; /* with threads: compute a bitmap's checksum under the group's lock with each search, as Linux
	                   does */
	uint64_t seed;
	bool dry_run;   /* leave the image as it is; so always when more than one thing is measured */
	uint32_t shown; /* what the kernel would show after each run: a bit for each enum kernel_form */
	bool shown_as_json;
	struct progress *progress;
};

struct measurement {
	const struct configuration *configuration;
	unsigned int threads; /* or processors of the machine */
	struct result result;
	char *shown; /* owned; NULL: nothing was to be shown */
};
