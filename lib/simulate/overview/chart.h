/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bar charts in SVG, for light and dark pages, without scripts or fonts of their own. Pure. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "support/problem.h"

#define CHART_TEXT_BYTES 64

struct chart_bar {
	char group[CHART_TEXT_BYTES]; /* a headline where it changes; "": none */
	char label[CHART_TEXT_BYTES];
	unsigned int color; /* bars of the same number look alike */
	double value;       /* not negative */
	char text[CHART_TEXT_BYTES];
};

struct chart {
	const char *title;
	bool is_logarithmic; /* bars are as long as the logarithm of 1 + value; the chart says so */
	const struct chart_bar *bars;
	size_t count;
};

/* Writes it. The stream's error. */
MUST_CHECK errcode_t chart_write(FILE *stream, const struct chart *chart);
