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

/* The environment of a running workload. */
struct simulation {
	struct image *image; /* open, with an allocator attached */
	const struct simulate_options *options;
	const struct configuration *configuration;
	const struct setting *settings; /* one for each of the workload's options */
	unsigned int threads;           /* 0: the streams take turns in one thread, in an order that the seed
	                                 * decides */
	bool is_one_process;            /* without threads: one process writes all streams, one after the other, on one
	                                 * CPU */
	unsigned int processors;        /* modelled in single-threaded runs: see processors.h */
	struct clocks *clocks;          /* of the running streams, with a machine */
	struct pool *pool;              /* its workers are the threads */
	uint64_t asked_bytes;           /* what the files will have; set by the workload, 0: not known */
	struct result *result;
	struct problem *problem;
};
