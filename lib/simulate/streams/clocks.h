/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors with a clock each, for streams that take turns in one thread: the one furthest behind has the next turn.
 * A turn moves it on by what a machine (machine.h) takes for it, with what it waits for locks that others hold then.
 * Streams are bound to processors, one after the other; those of one processor share its time by slices. All is
 * modelled, and the same each time. One thread.
 */
#pragma once

#include "allocator/search/group_search.h"
#include "simulate/run/machine.h"

struct clocks;

/* What can be waited for; groups and blocks have an index. */
enum modelled_lock {
	LOCK_OF_GROUP,
	LOCK_OF_FILESYSTEM,   /* s_md_lock */
	LOCK_OF_ORPHANS,      /* of the orphan file, or the list's */
	LINE_OF_ORPHAN_BLOCK, /* no lock: a line that goes from processor to processor */
	MODELLED_LOCKS,
};

/* An orphan file has no more. */
#define CLOCKS_MOST_ORPHAN_BLOCKS 512

struct clocks_options {
	const struct machine *machine;
	unsigned int processors, streams;
	uint32_t groups;
	unsigned int cpu_percent; /* of a processor, that a stream may have in each 100 ms; 0: all of it */
	uint64_t seed;
};

/* ENOMEM. */
MUST_CHECK errcode_t clocks_create(const struct clocks_options *options, struct clocks **ret);

/* NULL is allowed. */
void clocks_destroy(struct clocks *clocks);

/* For contention_simulate(): a group is busy as long as another processor's turn holds its lock. */
const struct contention *clocks_contention(const struct clocks *clocks);

/* Begins a turn, and says which stream's it is; there is one that is not over. */
unsigned int clocks_begin(struct clocks *clocks);

/* The turn's stream takes a lock so many times. */
void clocks_lock(struct clocks *clocks, enum modelled_lock kind, uint32_t index, uint64_t times);

/* Ends the turn. */
void clocks_end(struct clocks *clocks, bool stream_is_over);

/* Seconds since the beginning, by the clock of the processor whose turn it is. */
double clocks_now(const struct clocks *clocks);

struct clocks_cost {
	double seconds;       /* until the last stream was over */
	double waited_share;  /* of all processors' time, for locks and for what they share */
	double limited_share; /* of it, with nothing to run but streams that have had their time */
};

struct clocks_cost clocks_cost(const struct clocks *clocks);
