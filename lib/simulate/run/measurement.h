/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options and results of measurements. */
#pragma once

#include "simulate/run/configuration.h"
#include "simulate/run/workload.h"
#include "simulate/run/machine.h"

struct simulate_options {
	const char *image;
	const char *image_file; /* its temporary name; NULL: none */
	const char *input;      /* the workload's input, if it has one */
	const char *directory;  /* made in its root; NULL: the workload's name */
	const struct workload *workload;
	const struct setting *settings; /* one for each of the workload's options */
	const struct configuration *configurations;
	size_t configuration_count;
	const unsigned int *threads;
	size_t thread_count;
	unsigned int online_processors; /* reports fit laws to measurements of at most this many threads */
	unsigned int repeats;           /* at least 1; measured values are medians */
	unsigned int processors;        /* modelled in single-threaded runs */
	const struct machine *machine;  /* the modelled machine, whose processors are `threads`; NULL: none */
	unsigned int cpu_percent;       /* the limit of each stream, of one processor; 0: none */
	bool checksums; /* with threads: compute a bitmap's checksum under the group's lock after each search, as
	                 * Linux does */
	uint64_t seed;
	bool dry_run;   /* leave the image unchanged; implied by several measurements */
	uint32_t shown; /* the kernel's forms to show after each run: a bit for each enum kernel_form */
	bool shown_as_json;
	struct progress *progress;
};

struct measurement {
	const struct configuration *configuration;
	unsigned int threads; /* or processors of the machine */
	struct result result;
	char *shown; /* owned; NULL: none */
};
