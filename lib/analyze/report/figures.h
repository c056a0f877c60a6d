/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures by which two filesystems are compared, the same in every form. */
#pragma once

#include "analyze/report/report.h"

/* How a figure is computed from one or two members of a report. */
enum figure_rule { FIGURE_ONE, FIGURE_SUM, FIGURE_QUOTIENT, FIGURE_SCORE };

enum figure_wish { FIGURE_ANY, FIGURE_LOW, FIGURE_HIGH };

struct figure {
	const char *key;  /* in JSON */
	const char *name; /* in text, with the unit */
	enum figure_rule rule;
	bool is_in_blocks;          /* the rule's result is in blocks, the figure in KiB */
	const char *first, *second; /* as in JSON: "files.count"; second is NULL if there is none */
	unsigned int decimals;
	enum figure_wish wish; /* whether more or less is better */
	bool is_of_files;      /* else about the free space */
};

#define FIGURE_COUNT 18

extern const struct figure figures[FIGURE_COUNT];

/* The figures of one report. */
struct figure_values {
	const char *target;  /* as in report_filesystem; borrowed */
	const char *verdict; /* its words; NULL: the report has none; borrowed */
	uint64_t damage_count;
	bool has_free_space, has_files; /* the figures of a part that is missing are 0 */
	double values[FIGURE_COUNT];    /* in the order of figures */
};

/* The place of a figure that is there. */
size_t figures_find(const char *key);

/* The figure from its members; file_blocks: "files.blocks". */
double figure_value(const struct figure *figure, double first, double second, double file_blocks,
                    double block_kilobytes);

/* Computes the figures of a complete report. */
void figures_compute(const struct report *report, struct figure_values *values);

/* The score among them. */
double figures_score(const struct figure_values *values);
