/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams: activities that go on side by side, each a step at a time. With threads they are shared out among them, and
 * a thread takes turns with its own; without, one thread takes turns with all, each with an allocator's worker of its
 * own, as if each had a processor: then the seed decides the order, and equal runs have equal results.
 */
#pragma once

#include "simulate/run/workload.h"
#include "simulate/streams/clocks.h"

/*
 * One step of a stream. *is_over ends it; no other thread runs this stream. Streams and their steps are independent of
 * one another but for the allocator.
 */
typedef errcode_t (*stream_step)(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over);

/* What it took. */
struct streams_cost {
	double seconds;              /* by the clock */
	double processor_seconds;    /* of the whole process: what a busy machine distorts less */
	uint64_t lock_waits;         /* times that a thread found a lock of the allocator held that it had to have */
	struct clocks_cost modelled; /* with a machine: what it would take there */
};

/* A step's commit. With a machine it costs its stream nothing: there the journal has a thread of its own. */
MUST_CHECK errcode_t streams_commit(struct simulation *simulation);

/* What streams_run() may be told instead of a step's bytes. */
#define STREAMS_STEP_IS_FILE UINT64_MAX

/*
 * Runs all streams to their ends, beginning at one moment. A step's error ends all; the
 * problem says what failed with `action`, a string literal. step_bytes: what progress adds for each step.
 */
MUST_CHECK errcode_t streams_run(struct simulation *simulation, unsigned int count, stream_step step, void *context,
                                 uint64_t step_bytes, const char *action, struct streams_cost *cost);
