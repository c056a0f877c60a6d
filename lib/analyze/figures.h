/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures by which two filesystems are compared, the same in every form. */
#ifndef ANALYZE_FIGURES_H
#define ANALYZE_FIGURES_H

#include "analyze/report.h"

enum figure_wish { FIGURE_ANY, FIGURE_LOW, FIGURE_HIGH };

struct figure {
	const char *key;  /* in JSON */
	const char *name; /* for people, with the unit */
	double (*value)(const struct report *report);
	unsigned int decimals;
	enum figure_wish wish; /* which way is better */
	bool is_of_files;      /* else of the free space */
};

extern const struct figure figures[];
extern const size_t figure_count;

#endif
