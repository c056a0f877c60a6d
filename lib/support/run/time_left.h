/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long work that consists of stages will still take: what a table says, at the pace that was kept so far. Nothing
 * here reads a clock, so that tests can replay what was recorded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a stage takes, in seconds of one machine: others are compared with it, so that only the proportions matter. */
struct stage_cost {
	const char *stage;
	double once, per_file, per_byte;
};

/* Files (or whatever a stage counts) and bytes. */
struct work {
	double files, bytes;
};

/* What has been found of a tree that is being read. */
struct found {
	uint64_t names, bytes;    /* bytes of contents, of the names that have been examined */
	uint64_t folders, listed; /* folders that were found, and of these, those whose names are among the names */
};

/* The same when the level was begun that is being read. */
struct survey {
	struct found now, at_level;
	uint64_t examined; /* names whose contents are in now.bytes */
};

/* How much there is altogether, by what has been found so far; zeros: unknown. Exact once all folders are listed. */
struct work survey_expect(const struct survey *survey);

/* Seconds that went by, and what the table says of the work that was done meanwhile. */
struct pace {
	double seconds, expected;
};

struct time_left {
	const struct stage_cost *costs; /* in their order; borrowed */
	size_t count;
	size_t stage;     /* the one that runs; count: one that is not in the table */
	size_t next;      /* in the table: all from here on are still to come */
	struct pace all;  /* since the beginning */
	struct pace own;  /* of this stage: the latest counts most */
	double before;    /* seconds for one of the table's, of what came before this stage */
	double seconds;   /* at the last update, since the stage began */
	struct work done; /* by then */
};

/* costs may be NULL with a count of 0: then stages are estimated one by one. */
void time_left_init(struct time_left *left, const struct stage_cost *costs, size_t count);

/* A stage begins. One that began before may do so again; then those after it are to come once more. */
void time_left_begin(struct time_left *left, const char *stage);

/*
 * Seconds that all is expected to take from now on; negative: unknown. seconds: since the stage began; done and total:
 * of the stage, where 0 in total is unknown; whole: what the stages to come will have to do.
 */
double time_left_update(struct time_left *left, double seconds, struct work done, struct work total, struct work whole);
