/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that are held back, in their order, until it is known of the first of them whether its file ends there, and
 * how long the file was. The first is told by the next event of the same process, the second by what the same call of
 * writeback allocates later: all of that had been written before. Others' events lie between. Pure.
 */
#pragma once

#include "simulate/replay/trace_event.h"

/* On two processors no answer to the first came later than after 9 events. */
#define TRACE_QUEUE_EVENTS 256u

struct queued_event {
	struct trace_event event;
	uint64_t device;
	uint64_t waits;       /* the number of its question; 0: there is none */
	bool is_in_writeback; /* which is not over */
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

/* An allocation of writeback has been added: earlier ones of the same call learn how long their file was. */
void trace_queue_extend(struct trace_queue *queue);

/* The process has written back the file. */
void trace_queue_end_writeback(struct trace_queue *queue, uint64_t process, uint32_t ino);

/*
 * The next event, if nothing is to be waited for: no answer and no end of writeback, or there would be no room for
 * more. is_end: neither will come.
 */
bool trace_queue_next(struct trace_queue *queue, bool is_end, struct queued_event *event);
