/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimates the time left of work in stages: a table's seconds at the pace so far. Nothing here reads a clock, so
 * tests can replay recorded work.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A stage's cost in seconds of one machine. Other machines are compared with it, so that only the proportions matter.
 */
struct stage_cost {
	const char *stage;
	double once, per_file, per_byte;
};

/* Files (or whatever a stage counts) and bytes. */
struct work {
	double files, bytes;
};

/* Counts of a tree that is being read. */
struct found {
	uint64_t names, bytes;    /* bytes of contents of the examined names */
	uint64_t folders, listed; /* folders found, and those of them whose names are counted */
};

/* Counts now, and at the beginning of the present level. */
struct survey {
	struct found now, at_level;
	uint64_t examined; /* names whose contents are in now.bytes */
};

/* Estimates the whole work from what has been found so far; zeros: unknown. Exact once all folders are listed. */
struct work survey_expect(const struct survey *survey);

/* Elapsed seconds, and the table's seconds for the same work. */
struct pace {
	double seconds, expected;
};

struct time_left {
	const struct stage_cost *costs; /* in their order; borrowed */
	size_t count;
	size_t stage;     /* the running one; count: not in the table */
	size_t next;      /* index in the table: the first stage to come */
	struct pace all;  /* since the beginning */
	struct pace own;  /* of this stage; recent work counts most */
	double before;    /* seconds per second of the table before this stage */
	double seconds;   /* since the stage began, at the last update */
	struct work done; /* at the last update */
};

/* costs may be NULL with a count of 0: then stages are estimated one by one. */
void time_left_init(struct time_left *left, const struct stage_cost *costs, size_t count);

/* Begins a stage. A stage may begin again; then those after it come again, too. */
void time_left_begin(struct time_left *left, const char *stage);

/*
 * Returns the expected seconds until the end; negative: unknown. seconds: since the stage began; done and total: of
 * the stage, with 0 in total for unknown; whole: the work of the stages to come.
 */
double time_left_update(struct time_left *left, double seconds, struct work done, struct work total, struct work whole);
