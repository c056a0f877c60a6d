/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams: concurrent activities, each of which runs a step at a time. With threads, the streams are divided among
 * them, and a thread runs its own in turn. Without, one thread runs all in turn, each with its own worker of the
 * allocator, as if it had a processor: then the seed decides the order, and equal runs have equal results.
 */
#pragma once

#include "simulate/run/measurement.h"
#include "simulate/streams/clocks.h"

/*
 * Runs one step of a stream. *is_over ends the stream; no other thread runs it. Streams share nothing but the
 * allocator.
 */
typedef errcode_t (*stream_step)(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over);

/* The cost of a run. */
struct streams_cost {
	double seconds;              /* wall-clock time */
	double processor_seconds;    /* processor time of the whole process, which a busy machine distorts less */
	uint64_t lock_waits;         /* how often a thread had to wait for a lock of the allocator */
	struct clocks_cost modelled; /* the cost on a modelled machine */
};

/* Commits within a step. With a machine it costs the stream nothing, because the journal has its own thread. */
MUST_CHECK errcode_t streams_commit(struct simulation *simulation);

/* The number of streams that an option asks for; 0: one for each thread or modelled processor. */
unsigned int streams_wanted(const struct simulation *simulation, uint64_t asked);

/* A special value of streams_run()'s step_bytes. */
#define STREAMS_STEP_IS_FILE UINT64_MAX

/*
 * Runs all streams to their ends; all begin together. A step's error ends all; `action`, a string literal, says in
 * the problem what failed. step_bytes: progress for each step.
 */
MUST_CHECK errcode_t streams_run(struct simulation *simulation, unsigned int count, stream_step step, void *context,
                                 uint64_t step_bytes, const char *action, struct streams_cost *cost);
