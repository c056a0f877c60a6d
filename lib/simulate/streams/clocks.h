/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors with a clock each, for streams that take turns in one thread: the processor with the earliest clock has
 * the next turn. A turn advances its clock by the time that a machine (machine.h) takes for it, with waits for locks
 * that other processors hold then. Streams are bound to processors in turn; those of one processor share its time by
 * slices. Everything is modelled and deterministic. One thread.
 */
#pragma once

#include "allocator/search/group_search.h"
#include "compare/policies.h"
#include "simulate/run/machine.h"

struct clocks;

/* Resources to wait for; groups and blocks have an index. */
enum modelled_lock {
	LOCK_OF_GROUP,
	LOCK_OF_FILESYSTEM,   /* s_md_lock */
	LOCK_OF_ORPHANS,      /* of the orphan file, or the list's */
	LINE_OF_ORPHAN_BLOCK, /* not a lock: a cache line that moves between processors */
	LINE_OF_LIST,         /* of a list's read-write lock, which several readers may have */
	MODELLED_LOCKS,
};

/* The most blocks of an orphan file. */
#define CLOCKS_MOST_ORPHAN_BLOCKS 512

struct clocks_options {
	const struct machine *machine;
	unsigned int processors, streams;
	uint32_t groups;
	unsigned int cpu_percent; /* of a processor for a stream in each 100 ms; 0: no limit */
	uint64_t seed;
};

/* ENOMEM. */
MUST_CHECK errcode_t clocks_create(const struct clocks_options *options, struct clocks **ret);

/* NULL is allowed. */
void clocks_destroy(struct clocks *clocks);

/* For contention_simulate(): a group is busy while another processor's turn holds its lock. */
const struct contention *clocks_contention(const struct clocks *clocks);

/* For policy_observe_locks(). */
const struct lock_observer *clocks_observer(const struct clocks *clocks);

/* Begins a turn and returns its stream; at least one stream must not be over. */
unsigned int clocks_begin(struct clocks *clocks);

/* The turn's stream takes a lock `times` times. The last group's is held until the turn or clocks_pause() ends it:
 * other locks are taken inside. */
void clocks_lock(struct clocks *clocks, enum modelled_lock kind, uint32_t index, uint64_t times);

/* Ends the turn amid a call: other processors that are earlier come before its rest. */
void clocks_pause(struct clocks *clocks);

/* Ends the turn, and the call unless it was paused. */
void clocks_end(struct clocks *clocks, bool stream_is_over);

/* Seconds since the beginning, by the clock of the turn's processor. */
double clocks_now(const struct clocks *clocks);

struct clocks_cost {
	double seconds;       /* until the last stream was over */
	double waited_share;  /* of all processors' time: waits for locks and the shared resource */
	double limited_share; /* of all processors' time: all streams had used up their limit */
};

struct clocks_cost clocks_cost(const struct clocks *clocks);
