/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of commands: as text, or with --json as one document per listing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compare/kernel_forms.h"
#include "support/problem.h"
#include "support/text/json.h"

struct column {
	const char *name; /* its heading, and the key in JSON */
	int width;        /* negative: left-aligned */
};

struct cell {
	const char *text; /* NULL: the cell is a number */
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

/* A listing in rows. The columns end with a NULL name; a row has a cell for each. */
struct listing {
	struct json json;
	bool is_json;
	const struct column *columns;
};

void listing_begin(struct listing *listing, bool is_json, const struct column *columns);
void listing_row(struct listing *listing, const struct cell *cells);
MUST_CHECK errcode_t listing_end(struct listing *listing);

/* Prints one of the kernel's forms, as text or as JSON. */
MUST_CHECK errcode_t listing_kernel_form(bool is_json, enum kernel_form form, struct ext2mb *mb);
