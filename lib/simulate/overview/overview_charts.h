/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts of measurements. Colours mean the same in all of them: enum way. */
#pragma once

#include "simulate/overview/overview_disks.h"
#include "simulate/overview/overview_document.h"

struct overview_chart {
	const char *name;  /* name of the file: allocsim-NAME.svg; NULL after the last one */
	const char *title; /* names the origin of the values */
	const char *key;   /* key of the values; sections, numbers of threads and disks become groups of bars */
	bool is_logarithmic;
	bool has_two_kinds; /* the second half of the configurations is the first half with an addition */
	bool is_online;     /* only for the number of threads that is nearest to the processors, and not above */
};

/* The data of a chart. */
struct chart_subject {
	const struct simulate_options *options;
	const struct measurement *measurements; /* NULL: use on_disk */
	struct measurement *const *on_disk;     /* by disk; unused if there are measurements */
	const char *words;                      /* a line below the title: the disk */
};

/* Writes the meaning of the colours as a paragraph; in the page with the colours. */
void overview_chart_legend(struct document *document);

/*
 * Puts a chart into the document, and for Markdown into a file of the directory. ENOMEM, errors of writing; the
 * problem names the file.
 */
MUST_CHECK errcode_t overview_chart_put(const struct overview_chart *chart, const struct chart_subject *subject,
                                        const char *directory, struct document *document, struct problem *problem);
