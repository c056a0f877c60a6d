/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds events back, in their order, until it is known whether the first one's file ends there, and how long the file
 * was. The next event of the same process tells the former; later allocations of the same call of writeback tell the
 * latter, because all of their data had been written before. Events of other processes lie between. Pure.
 */
#pragma once

#include "simulate/replay/trace_event.h"

/* On two processors every answer about a file's end came within 9 events. */
#define TRACE_QUEUE_EVENTS 256u

struct queued_event {
	struct trace_event event;
	uint64_t device;
	uint64_t waits;       /* number of its question; 0: none */
	bool is_in_writeback; /* its call of writeback is not over */
};

/* Zero-initialise. */
struct trace_queue {
	struct queued_event events[TRACE_QUEUE_EVENTS]; /* a ring */
	unsigned int first, count;
};

/* The queue must have room. */
void trace_queue_add(struct trace_queue *queue, const struct queued_event *event);

/* Answers a question, which may have been dropped. */
void trace_queue_answer(struct trace_queue *queue, uint64_t waits, bool is_final);

/* Called after an allocation of writeback was added: updates the file's length in earlier ones of the same call. */
void trace_queue_extend(struct trace_queue *queue);

/* Notes that the process has written back the file. */
void trace_queue_end_writeback(struct trace_queue *queue, uint64_t process, uint32_t ino);

/*
 * Returns the next event if it waits for neither an answer nor the end of writeback, or if the queue is full. is_end:
 * neither will come.
 */
bool trace_queue_next(struct trace_queue *queue, bool is_end, struct queued_event *event);
