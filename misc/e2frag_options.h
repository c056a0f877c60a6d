/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag's command line. */
#pragma once

#include <math.h>

#include "analyze/analyze.h"
#include "analyze/forms/forms.h"
#include "against_option.h"
#include "command/command_line.h"
#include "disk/place.h"

#define ANY_SCORE INFINITY

struct command {
	char **names; /* of the filesystems; borrowed */
	size_t name_count;
	const char *name;    /* the first of them */
	const char *compare; /* name of another one; NULL: none */
	struct against against;
	const char *html;        /* file for the page; NULL: none */
	struct form_parts parts; /* the parts that the form shows; a page has all */
	struct analyze_options options;
	enum progress_style progress;
	const struct report_form *form;
	struct argument_list paths;
	struct argument_list history; /* saved reports */
	bool ends_with_nul;           /* the paths of --list */
	bool with_rows;
	uint64_t chunk_kilobytes;
	double max_score; /* ANY_SCORE: no limit */
	unsigned int score_decimals;
	struct place_options where; /* without progress */
	errcode_t output_error;     /* why the report could not be written; 0: no error so far */
};

/* Reads the command line; --help, --version and wrong usage end the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);
