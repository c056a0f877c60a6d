/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/group/pending_free.h"

#include <string.h>

#include "support/bisect.h"

void pending_free_destroy(struct pending_free *pending)
{
	free(pending->runs);
	*pending = (struct pending_free){ 0 };
}

errcode_t pending_free_reserve(struct pending_free *pending)
{
	return vector_reserve(&pending->runs, &pending->capacity, (size_t)pending->count + 1, sizeof(*pending->runs));
}

/* The first run that ends after the cluster. */
static uint32_t index_at(const struct pending_free *pending, uint32_t cluster)
{
	return (uint32_t)BISECT(pending->count, run, pending->runs[run].start + pending->runs[run].count > cluster);
}

bool pending_free_overlaps(const struct pending_free *pending, uint32_t start, uint32_t count)
{
	uint32_t index = index_at(pending, start);

	return index < pending->count && pending->runs[index].start < start + count;
}

void pending_free_add(struct pending_free *pending, uint32_t start, uint32_t count, uint32_t tid)
{
	uint32_t index = index_at(pending, start);
	struct pending_run *next = pending->runs + index;
	struct pending_run *previous = index ? next - 1 : NULL;
	bool joins_previous = previous && previous->tid == tid && previous->start + previous->count == start;
	bool joins_next = index < pending->count && next->tid == tid && next->start == start + count;

	if (joins_previous && joins_next) {
		previous->count += count + next->count;
		memmove(next, next + 1, (--pending->count - index) * sizeof(*next));
	} else if (joins_previous) {
		previous->count += count;
	} else if (joins_next) {
		next->start = start;
		next->count += count;
	} else {
		memmove(next + 1, next, (pending->count++ - index) * sizeof(*next));
		*next = (struct pending_run){ start, count, tid };
	}
}

/* Transactions are counted modulo 2^32. */
static bool is_later(const struct pending_run *run, uint32_t tid)
{
	return (int32_t)(run->tid - tid) > 0;
}

bool pending_free_next(const struct pending_free *pending, uint32_t from, uint32_t tid, uint32_t *start,
                       uint32_t *count)
{
	uint32_t index = index_at(pending, from);

	while (index < pending->count && is_later(&pending->runs[index], tid))
		index++;
	if (index == pending->count)
		return false;
	uint32_t end = *start = pending->runs[index].start;
	for (; index < pending->count && pending->runs[index].start == end; index++) {
		if (is_later(&pending->runs[index], tid))
			break;
		end += pending->runs[index].count;
	}
	*count = end - *start;
	return true;
}

uint32_t pending_free_release(struct pending_free *pending, uint32_t tid, pending_free_visit visit, void *context)
{
	uint32_t kept = 0;
	uint32_t released = 0;
	struct pending_run joined = { 0 };

	for (uint32_t index = 0; index < pending->count; index++) {
		struct pending_run run = pending->runs[index];

		if (is_later(&run, tid)) {
			pending->runs[kept++] = run;
			continue;
		}
		released += run.count;
		if (joined.count && joined.start + joined.count == run.start) {
			joined.count += run.count;
			continue;
		}
		if (joined.count)
			visit(context, joined.start, joined.count);
		joined = run;
	}
	if (joined.count)
		visit(context, joined.start, joined.count);
	pending->count = kept;
	if (!kept)
		pending_free_destroy(pending);
	return released;
}

const char *pending_run_check(const struct pending_run *run, const struct pending_run *previous,
                              const struct buddy *buddy)
{
	uint32_t end = run->start + run->count, previous_end = previous ? previous->start + previous->count : 0;

	if (!buddy || !run->count || end > buddy->clusters || buddy_next_free(buddy, run->start, end) != end)
		return "a pending free is not in use";
	if (run->start < previous_end)
		return "pending frees overlap";
	if (previous && run->start == previous_end && run->tid == previous->tid)
		return "pending frees are not merged";
	return NULL;
}
