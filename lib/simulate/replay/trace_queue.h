/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that are held back, in their order, until it is known of the first of them whether its file ends there. What
 * tells is the next event of the same process; others' events lie between. Pure.
 */
#pragma once

#include "simulate/replay/trace_event.h"

/* On two processors no answer came later than after 9 events. */
#define TRACE_QUEUE_EVENTS 256u

struct queued_event {
	struct trace_event event;
	uint64_t device;
	uint64_t waits; /* the number of its question; 0: there is none */
};

/* Zero-initialise. */
struct trace_queue {
	struct queued_event events[TRACE_QUEUE_EVENTS]; /* a ring */
	unsigned int first, count;
};

/* There must be room. */
void trace_queue_add(struct trace_queue *queue, const struct queued_event *event);

/* The answer to a question, which may have been forgotten. */
void trace_queue_answer(struct trace_queue *queue, uint64_t waits, bool is_final);

/*
 * The next event, if nothing is to be waited for: it waits for no answer, or there would be no room for more. is_end: no
 * answer will come.
 */
bool trace_queue_next(struct trace_queue *queue, bool is_end, struct queued_event *event);
