/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one run of a workload found: named values, which reports print side by side. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define RESULT_MAX_VALUES 112
#define RESULT_MAX_REPEATS 99

/* Where a value comes from; reports say it, so that nothing simulated is taken for measured. */
enum result_kind {
	RESULT_LAYOUT,   /* what lies where: counted in the image's metadata */
	RESULT_COUNTED,  /* events that the allocator counted */
	RESULT_MEASURED, /* with a clock, on this machine */
	RESULT_FITTED,   /* from measured values, by a model */
	RESULT_MODELLED, /* from layouts, by a model: what something would cost */
};

struct result_value {
	const char *section; /* NULL, or of which part of the workload: "untar" */
	const char *key;     /* for JSON: "extents_per_file" */
	const char *label;   /* for people, with the unit: "extents per file" */
	enum result_kind kind;
	double value; /* of those that are not negative by nature, a negative one is not known */
	unsigned int decimals;
	double lower, upper; /* quartiles, if it is the median of several runs */
	unsigned int runs;   /* 0 or 1: it is of one run */
};

/* What values of one section and kind have of their own. */
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
 * All strings are literals or live as long as the result. Section and key together name a value: the same twice, and
 * too many values, are broken invariants.
 */
void result_add(struct result *result, const char *section, enum result_kind kind, const struct named_value *values);

/*
 * What several runs of the same make together: of each measured value the median and the quartiles, of the others what
 * the first run has. The results have the same values in the same order, and are at most RESULT_MAX_REPEATS.
 */
void result_median(const struct result *results, size_t count, struct result *median);

/* The last so many values become the first ones, in their order. */
void result_move_first(struct result *result, unsigned int count);

/* NULL: it has none. */
const struct result_value *result_find(const struct result *result, const char *section, const char *key);

/* "layout", "counted", "measured", "fitted", "modelled". */
const char *result_kind_name(enum result_kind kind);

/* Whether there are measured ones. */
bool result_is_measured(const struct result *result);

/* Prints the value with its decimals, "-" if it is not known; after the median of several runs "(LOWER-UPPER)", the
 * quartiles. Returns text. */
#define RESULT_TEXT_BYTES 120
const char *result_format(const struct result_value *value, char text[RESULT_TEXT_BYTES]);
