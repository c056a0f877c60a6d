/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of one run: named values, which reports print side by side. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define RESULT_MAX_VALUES 112
#define RESULT_MAX_REPEATS 99

/* The origin of a value, which reports name, so that nothing simulated is taken for measured. */
enum result_kind {
	RESULT_LAYOUT,   /* counted in the image's metadata */
	RESULT_COUNTED,  /* events that the allocator counted */
	RESULT_MEASURED, /* with a clock, on this machine */
	RESULT_FITTED,   /* from measured values, by a model */
	RESULT_MODELLED, /* a cost, by a model from layouts */
};

struct result_value {
	const char *section; /* the part of the workload: "untar"; NULL: all of it */
	const char *key;     /* for JSON: "extents_per_file" */
	const char *label;   /* in tables, with the unit: "extents per file" */
	enum result_kind kind;
	double value; /* negative: unknown, unless the value may be negative */
	unsigned int decimals;
	double lower, upper; /* quartiles, if it is the median of several runs */
	unsigned int runs;   /* 0 or 1: of one run */
};

/* One of several values of a section and a kind. */
struct named_value {
	const char *key, *label; /* NULL after the last one */
	double value;
	unsigned int decimals;
};

struct result {
	unsigned int count;
	struct result_value values[RESULT_MAX_VALUES];
};

/*
 * All strings are literals or live as long as the result. Section and key together name a value: adding one twice, or
 * too many values, breaks an invariant.
 */
void result_add(struct result *result, const char *section, enum result_kind kind, const struct named_value *values);

/*
 * Combines repeated runs: measured values become medians with quartiles, others are the first run's. The results have
 * the same values in the same order, and are at most RESULT_MAX_REPEATS.
 */
void result_median(const struct result *results, size_t count, struct result *median);

/* Moves the last `count` values to the front, in their order. */
void result_move_first(struct result *result, unsigned int count);

/* Returns NULL if there is none. */
const struct result_value *result_find(const struct result *result, const char *section, const char *key);

/* "layout", "counted", "measured", "fitted", "modelled". */
const char *result_kind_name(enum result_kind kind);

/* Whether any value is measured. */
bool result_is_measured(const struct result *result);

/* Prints the value with its decimals, "-" if it is unknown; a median of several runs is followed by its quartiles,
 * "(LOWER-UPPER)". Returns text. */
#define RESULT_TEXT_BYTES 120
const char *result_format(const struct result_value *value, char text[RESULT_TEXT_BYTES]);
