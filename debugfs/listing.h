/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How commands print: for people, or with --json as one document for each listing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compare/kernel_forms.h"
#include "support/problem.h"
#include "support/text/json.h"

struct column {
	const char *name; /* its heading, and the key in JSON */
	int width;        /* negative: to the left */
};

struct cell {
	const char *text; /* NULL: it is a number */
	uint64_t number;
};

#define NUMBER_CELL(value)                                                                                             \
	{                                                                                                              \
		.number = (value)                                                                                      \
	}
#define TEXT_CELL(value)                                                                                               \
	{                                                                                                              \
		.text = (value)                                                                                        \
	}

/* Rows of as many cells as there are columns, which end with a name of NULL. */
struct listing {
	struct json json;
	bool is_json;
	const struct column *columns;
};

void listing_begin(struct listing *listing, bool is_json, const struct column *columns);
void listing_row(struct listing *listing, const struct cell *cells);
MUST_CHECK errcode_t listing_end(struct listing *listing);

/* Prints one of the kernel's forms, as it is or as JSON. */
MUST_CHECK errcode_t listing_kernel_form(bool is_json, enum kernel_form form, struct ext2mb *mb);
