/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A workload: its name, its options, and its code. It runs on the metadata of a real image through an allocator that
 * is opened for it, and returns named values. No data is written.
 *
 * A new workload is a file of workloads/ with a `const struct workload`, named in ../simulate.h, in simulate.c and in
 * rules.mk; a section of lab/e2allocsim.8; and, for `e2allocsim all`, an experiment in overview/overview.c.
 * doc/READING.md lists the tests that need to know it.
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
	SETTING_CHOICE, /* one of the words of `argument`, "this|that"; the value is its index */
	SETTING_TEXT,
};

/* An option --NAME=ARGUMENT of one workload, which knows the setting by its index in the list. */
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

struct simulation;

struct workload {
	const char *name;
	const char *summary; /* one line */
	const char *input;   /* name of the argument before IMAGE, an input file; NULL: none */
	const char *row; /* key of the value for tables of policies by threads; NULL: tables of values by policies */
	const struct workload_option *options; /* ends with a zero row; a workload without options has only that one */
	const char *smaller;                   /* the options that make it need less space, for messages */
	bool models_machines;                  /* its calls cost what they cost on simulation->options->machine */

	/* Whether its settings are such that it can run; the problem says why not. Pure; NULL: they all are. */
	errcode_t (*check)(const struct setting *settings, struct problem *problem);

	/*
	 * Makes files in the image's directory, lets them grow and shrink, and adds values to the result; returns
	 * when all its threads have ended. The image will hold the files as they are then. A workload with an input
	 * makes none, and leaves the image unchanged. Main thread.
	 */
	errcode_t (*run)(struct simulation *simulation);

	/* Adds values to the result after file_set_place(); NULL: none. */
	errcode_t (*measure)(struct simulation *simulation);
};
