/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures by which two filesystems are compared, the same in every form. */
#ifndef ANALYZE_FIGURES_H
#define ANALYZE_FIGURES_H

#include "analyze/report/report.h"

enum figure_wish { FIGURE_ANY, FIGURE_LOW, FIGURE_HIGH };

struct figure {
	const char *key;  /* in JSON */
	const char *name; /* for people, with the unit */
	double (*value)(const struct report *report);
	unsigned int decimals;
	enum figure_wish wish; /* which way is better */
	bool is_of_files;      /* else of the free space */
};

#define FIGURE_COUNT 18

extern const struct figure figures[FIGURE_COUNT];

/* Those of one report. */
struct figure_values {
	const char *target; /* as report_filesystem has it; borrowed */
	uint64_t damage_count;
	bool has_free_space, has_files; /* figures of others are 0 */
	double values[FIGURE_COUNT];    /* in the order of figures */
};

/* Of a report that has everything. */
void figures_take(const struct report *report, struct figure_values *values);

/* The score among them. */
double figures_score(const struct figure_values *values);

#endif
