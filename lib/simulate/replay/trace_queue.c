/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/trace_queue.h"

#include <assert.h>

static struct queued_event *event_at(struct trace_queue *queue, unsigned int index)
{
	return &queue->events[(queue->first + index) % TRACE_QUEUE_EVENTS];
}

void trace_queue_add(struct trace_queue *queue, const struct queued_event *event)
{
	assert(queue->count < TRACE_QUEUE_EVENTS);
	*event_at(queue, queue->count++) = *event;
}

void trace_queue_answer(struct trace_queue *queue, uint64_t waits, bool is_final)
{
	for (unsigned int index = 0; index < queue->count; index++) {
		struct queued_event *queued = event_at(queue, index);

		if (queued->waits != waits)
			continue;
		queued->waits = 0;
		queued->event.is_final = is_final;
	}
}

static bool is_of(const struct queued_event *queued, uint64_t process, uint32_t ino)
{
	return queued->is_in_writeback && queued->event.process == process && queued->event.ino == ino;
}

void trace_queue_extend(struct trace_queue *queue)
{
	const struct trace_event *last = &event_at(queue, queue->count - 1)->event;
	uint32_t end = last->logical + last->asked;

	for (unsigned int index = 0; index < queue->count; index++) {
		struct queued_event *queued = event_at(queue, index);

		if (is_of(queued, last->process, last->ino) && queued->event.file_blocks < end)
			queued->event.file_blocks = end;
	}
}

void trace_queue_end_writeback(struct trace_queue *queue, uint64_t process, uint32_t ino)
{
	for (unsigned int index = 0; index < queue->count; index++) {
		struct queued_event *queued = event_at(queue, index);

		if (is_of(queued, process, ino))
			queued->is_in_writeback = false;
	}
}

bool trace_queue_next(struct trace_queue *queue, bool is_end, struct queued_event *event)
{
	if (!queue->count)
		return false;
	*event = *event_at(queue, 0);
	if ((event->waits || event->is_in_writeback) && !is_end && queue->count < TRACE_QUEUE_EVENTS)
		return false;
	queue->first = (queue->first + 1) % TRACE_QUEUE_EVENTS;
	queue->count--;
	return true;
}
