/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A workload: what it is called, what can be set, and how it runs. It runs on the metadata of a real image through an
 * allocator that is opened for it, and tells what it found as named values. No data is written.
 *
 * A new workload: a file of workloads/ with a `const struct workload`, named in ../simulate.h, in simulate.c and in
 * rules.mk; a section of misc/e2allocsim.8; and, to be part of `e2allocsim all`, an experiment in
 * overview/overview.c. doc/READING.md has the tests that want to know of it.
 */
#pragma once

#include "compare/policies.h"
#include "simulate/image/image.h"
#include "simulate/run/result.h"
#include "support/run/pool.h"
#include "support/run/progress.h"

enum setting_kind {
	SETTING_NUMBER,
	SETTING_BYTES,  /* "8K"; a plain number is bytes */
	SETTING_FLAG,   /* takes no argument; 0 or 1 */
	SETTING_CHOICE, /* one of the words of `argument`, "this|that"; the number is its index */
	SETTING_TEXT,
};

/* An option --NAME=ARGUMENT of one workload; the setting's index in the list is what the workload knows it by. */
struct workload_option {
	const char *name; /* NULL after the last one */
	const char *argument;
	enum setting_kind kind;
	uint64_t preset, minimum, maximum;
	const char *help; /* one line */
};

#define WORKLOAD_MOST_OPTIONS 16

struct setting {
	uint64_t number;
	const char *text; /* SETTING_TEXT: NULL if not given */
};

/* What a workload finds when it runs. */
struct simulation {
	struct image *image;                  /* open, with an allocator attached */
	const struct policy_options *options; /* with which it was opened */
	const struct setting *settings;       /* one for each of the workload's options */
	unsigned int threads;                 /* 0: the streams take turns in one, in an order that the seed decides */
	bool is_one_process;           /* without threads: one writes all streams, one after the other, on one CPU */
	unsigned int processors;       /* modelled in single-threaded runs: see processors.h */
	const struct machine *machine; /* whose costs are modelled, without threads: see clocks.h; NULL: none */
	unsigned int cpu_percent;      /* of a processor that each stream may have; 0: no limit */
	struct clocks *clocks;         /* of the streams that run now, with a machine */
	uint64_t journal_locks;        /* of the filesystem's lock, that the journal's own thread would take */
	bool checksums;                /* with threads: see --checksums */
	uint64_t seed;
	const char *input; /* the file that it reads; NULL unless the workload has an input */
	bool is_traced;    /* see struct configuration */
	const char *name;  /* the configuration's */
	struct pool *pool; /* of so many workers */
	struct progress *progress;
	struct result *result;
	struct problem *problem;
};

struct workload {
	const char *name;
	const char *summary; /* one line */
	const char *input;   /* what the argument before IMAGE is called, a file that it reads; NULL: there is none */
	const char *row;     /* key of the value that makes a table of policies by threads; NULL: values by policies */
	const struct workload_option *options; /* ends with a zero row; a workload without options has only that one */
	bool models_machines;                  /* its calls cost what they cost on simulation->machine */

	/* Whether its settings are such that it can run; the problem says why not. Pure; NULL: they all are. */
	errcode_t (*check)(const struct setting *settings, struct problem *problem);

	/*
	 * Makes files in the image's directory, lets them grow and shrink, and adds values to the result; returns when
	 * all its threads have ended. What the files are then is what the image will hold; one with an input makes
	 * none, and leaves the image as it is. Main thread.
	 */
	errcode_t (*run)(struct simulation *simulation);

	/* Adds values to the result when everything, maps and directories too, has its place; NULL: none. */
	errcode_t (*measure)(struct simulation *simulation);
};
