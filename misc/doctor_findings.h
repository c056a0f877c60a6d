/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings of e2populate --doctor: each one is what was tried, and what came of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

enum finding_state {
	FINDING_OK,
	FINDING_SLOW,  /* images are made, but not as fast as could be */
	FINDING_LACKS, /* something else than making images does not work, or not all of it */
	FINDING_FAILS, /* no image can be made */
};

struct finding {
	const char *key; /* "open_files" */
	enum finding_state state;
	char *value;        /* owned */
	const char *advice; /* NULL: there is nothing to do */
};

/* Zero-initialise. */
struct findings {
	struct finding *list;
	size_t count, capacity;
};

/* Adds one; key and advice are literals. Without memory the program ends. */
void finding_add(struct findings *findings, const char *key, enum finding_state state, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds one that is as it should be. */
#define finding_add_ok(findings, key, ...) finding_add(findings, key, FINDING_OK, NULL, __VA_ARGS__)

/* Adds "yes", or why not with an advice. */
void finding_add_error(struct findings *findings, const char *key, errcode_t error, enum finding_state state,
                       const char *advice);

void findings_print(const struct findings *findings);

/* As doc/schema/e2populate-doctor.schema.json has it. Returns the error of standard output. */
MUST_CHECK errcode_t findings_print_json(const struct findings *findings);

/* Is there one that fails? */
bool findings_fail(const struct findings *findings);

void findings_clear(struct findings *findings);
