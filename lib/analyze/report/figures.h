/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures by which two filesystems are compared, the same in every form. */
#pragma once

#include "analyze/report/report.h"

/* How a figure comes from members of a report, the first alone or with the second. */
enum figure_rule { FIGURE_ONE, FIGURE_SUM, FIGURE_QUOTIENT, FIGURE_SCORE };

enum figure_wish { FIGURE_ANY, FIGURE_LOW, FIGURE_HIGH };

struct figure {
	const char *key;  /* in JSON */
	const char *name; /* for people, with the unit */
	enum figure_rule rule;
	bool is_in_blocks;          /* what the rule gives; the figure is in KiB */
	const char *first, *second; /* as in the JSON: "files.count"; NULL: there is no second */
	unsigned int decimals;
	enum figure_wish wish; /* which way is better */
	bool is_of_files;      /* else of the free space */
};

#define FIGURE_COUNT 18

extern const struct figure figures[FIGURE_COUNT];

/* Those of one report. */
struct figure_values {
	const char *target;  /* as report_filesystem has it; borrowed */
	const char *verdict; /* its words; NULL: the report has none; borrowed */
	uint64_t damage_count;
	bool has_free_space, has_files; /* figures of others are 0 */
	double values[FIGURE_COUNT];    /* in the order of figures */
};

/* The figure from its members; file_blocks: "files.blocks". */
double figure_value(const struct figure *figure, double first, double second, double file_blocks,
                    double block_kilobytes);

/* Of a report that has everything. */
void figures_compute(const struct report *report, struct figure_values *values);

/* The score among them. */
double figures_score(const struct figure_values *values);
