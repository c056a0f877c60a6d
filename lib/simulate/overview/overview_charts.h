/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts of what was measured. A colour means the same in all of them: whose way it is, enum way. */
#pragma once

#include "simulate/overview/overview_disks.h"
#include "simulate/overview/overview_document.h"

struct overview_chart {
	const char *name;  /* of the file: allocsim-NAME.svg; NULL after the last one */
	const char *title; /* says where the values come from */
	const char *key;   /* of the values; sections, numbers of threads and disks become groups of bars */
	bool is_logarithmic;
	bool has_two_kinds; /* the second half of the configurations are those of the first, with something added */
	bool is_online;     /* only for as many threads as there are processors, or the next less */
};

/* What a chart is made of. */
struct chart_subject {
	const struct simulate_options *options;
	const struct measurement *measurements; /* NULL: those of all disks */
	struct measurement *const *on_disk;     /* of each disk; unused if there are measurements */
	const char *words;                      /* a line below the title: on what it was run */
};

/* What the colours mean, as a paragraph, and in the page with the colours. */
void overview_chart_legend(struct document *document);

/*
 * Puts one into the document, and for Markdown into a file of the directory. ENOMEM, errors of writing, which name the
 * file in the problem.
 */
MUST_CHECK errcode_t overview_chart_put(const struct overview_chart *chart, const struct chart_subject *subject,
                                        const char *directory, struct document *document, struct problem *problem);
