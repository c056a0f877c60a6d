/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/streams/clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "simulate/streams/lock_pressure.h"
#include "support/cleanup.h"

#define SLICE_NS UINT64_C(3000000)    /* the minimum time slice of Linux */
#define PERIOD_NS UINT64_C(100000000) /* default period of a control group's cpu.max */

/* One processor after the other has a resource; `owner` is the last of them. */
struct use {
	uint64_t begin, end;
	uint32_t owner;
};

/* More than that are rare: then the gap between the last two counts as used. */
#define MOST_USES 8

struct resource {
	struct use uses[MOST_USES]; /* present and future ones, in ascending order */
	uint32_t count;
	uint32_t past_owner; /* 1 + the last processor whose use is over; 0: none */
	bool is_wanted;      /* its owner had to wait for it: other processors still wait, and one gets it before the
	                      * owner's next time */
	uint64_t cost;       /* of the last acquisition */
};

struct processor {
	uint64_t now;
	uint64_t slice_end;
	uint32_t *streams; /* streams bound to it that are not over; owned by clocks */
	uint32_t count, turn;
};

/* A stream's use of its CPU limit. */
struct quota {
	uint64_t used, period; /* time used in this period */
};

struct clocks {
	struct contention contention;
	struct lock_observer observer;
	struct machine machine;
	unsigned int processor_count;
	struct processor *processors;
	uint32_t *heap; /* processors with streams, that with the earliest clock first */
	uint32_t heap_count;
	uint32_t *streams;
	struct quota *quotas; /* by stream; NULL: no limits */
	uint64_t quota_ns;
	struct resource *resources[MODELLED_LOCKS];
	uint64_t journal_free_at;
	uint32_t last_caller;   /* the processor that made the last call */
	uint32_t current;       /* the processor whose turn it is */
	struct resource *outer; /* the group's lock that it has; NULL: none */
	bool is_paused;         /* the turn ends amid a call */
	uint64_t turn_begun;
	uint64_t random;
	uint64_t last, waited, limited;
	unsigned int lock_busy;
};

static struct processor *current(const struct clocks *clocks)
{
	return &clocks->processors[clocks->current];
}

/* No processor comes back to a time before the present turn. */
static void forget_past(struct clocks *clocks, struct resource *resource)
{
	uint32_t past = 0;

	for (; past < resource->count && resource->uses[past].end <= clocks->turn_begun; past++)
		resource->past_owner = resource->uses[past].owner + 1;
	resource->count -= past;
	memmove(resource->uses, resource->uses + past, resource->count * sizeof(struct use));
}

/* Joins a use with the one before it. */
static void join_uses(struct resource *resource, uint32_t index)
{
	struct use *uses = resource->uses;

	uses[index - 1].end = uses[index].end > uses[index - 1].end ? uses[index].end : uses[index - 1].end;
	uses[index - 1].owner = uses[index].owner;
	memmove(uses + index, uses + index + 1, (--resource->count - index) * sizeof(*uses));
}

/*
 * Finds the first gap of `wanted` nanoseconds from the processor's clock on: turns that began earlier have taken the
 * resource at later times, too. Returns the index of the use after it.
 */
static uint32_t find_gap(const struct clocks *clocks, const struct resource *resource, uint64_t wanted, uint64_t *begin)
{
	uint32_t index = 0;

	*begin = current(clocks)->now;
	for (; index<resource->count && * begin + wanted> resource->uses[index].begin; index++)
		if (resource->uses[index].end > *begin)
			*begin = resource->uses[index].end;
	return index;
}

static void insert_use(struct resource *resource, uint32_t index, struct use use, uint64_t least_gap)
{
	if (resource->count == MOST_USES) {
		join_uses(resource, MOST_USES - 1);
		if (index > resource->count)
			index = resource->count;
	}
	memmove(resource->uses + index + 1, resource->uses + index, (resource->count++ - index) * sizeof(use));
	resource->uses[index] = use;
	if (index + 1 < resource->count && resource->uses[index + 1].begin < use.end + least_gap)
		join_uses(resource, index + 1);
	if (index && use.begin < resource->uses[index - 1].end + least_gap)
		join_uses(resource, index);
}

/* The processor waits until the resource is free; *waits says whether it had to. */
static void spend(struct clocks *clocks, struct resource *resource, uint64_t held, uint64_t handover, bool *waits)
{
	struct processor *processor = current(clocks);
	uint64_t before = processor->now, begin, waiting = 0;

	forget_past(clocks, resource);
	uint32_t index = find_gap(clocks, resource, held + handover, &begin);
	uint32_t before_owner = index ? resource->uses[index - 1].owner + 1 : resource->past_owner;
	bool is_handed_over = before_owner && before_owner != clocks->current + 1;

	*waits = begin > before;
	if (*waits)
		waiting = resource->cost ? (begin - before) / resource->cost : 0;
	if (waiting >= clocks->heap_count)
		waiting = clocks->heap_count - 1;
	if (is_handed_over)
		resource->is_wanted = *waits;
	resource->cost = held;
	if (is_handed_over || resource->is_wanted)
		resource->cost += handover + waiting * clocks->machine.waiter;
	processor->now = begin + resource->cost;
	clocks->waited += processor->now - before - held;
	insert_use(resource, index, (struct use){ begin, processor->now, clocks->current }, held);
}

void clocks_lock(struct clocks *clocks, enum modelled_lock kind, uint32_t index, uint64_t times)
{
	uint32_t held = kind == LINE_OF_ORPHAN_BLOCK ? 0 : clocks->machine.held;
	bool waits;

	for (uint64_t time = 0; time < times; time++)
		spend(clocks, &clocks->resources[kind][index], held, clocks->machine.handover, &waits);
	if (kind == LOCK_OF_GROUP)
		clocks->outer = &clocks->resources[kind][index];
}

static bool is_busy(void *context, uint32_t group)
{
	const struct clocks *clocks = context;
	const struct resource *lock = &clocks->resources[LOCK_OF_GROUP][group];
	uint64_t now = current(clocks)->now;

	for (uint32_t index = 0; index < lock->count && lock->uses[index].begin <= now; index++)
		if (now < lock->uses[index].end)
			return true;
	return false;
}

static void has_locked(void *context, uint32_t group)
{
	struct clocks *clocks = context;
	bool waits;

	spend(clocks, &clocks->resources[LOCK_OF_GROUP][group], clocks->machine.held, clocks->machine.handover, &waits);
	lock_pressure_count(&clocks->lock_busy, waits);
	clocks->outer = &clocks->resources[LOCK_OF_GROUP][group];
}

/* Takes a lock or line inside of the group's, which so is held longer. */
static void spend_inside(struct clocks *clocks, struct resource *resource, uint64_t held, uint64_t handover)
{
	uint64_t before = current(clocks)->now;
	bool waits;

	spend(clocks, resource, held, handover, &waits);
	for (uint32_t index = 0; clocks->outer && index < clocks->outer->count; index++)
		if (clocks->outer->uses[index].end == before)
			clocks->outer->uses[index].end = current(clocks)->now;
}

static void has_taken_global(void *context)
{
	struct clocks *clocks = context;

	spend_inside(clocks, clocks->resources[LOCK_OF_FILESYSTEM], clocks->machine.held, clocks->machine.line);
}

/* Readers have the lock together, but one after the other changes its line, and walks groups that others change. */
static void has_taken_list(void *context, uint32_t list)
{
	struct clocks *clocks = context;

	spend_inside(clocks, &clocks->resources[LINE_OF_LIST][list], 0, clocks->machine.handover);
}

static bool is_contended(void *context)
{
	const struct clocks *clocks = context;

	return lock_pressure_is_high(clocks->lock_busy);
}

static bool is_behind(const struct clocks *clocks, uint32_t one, uint32_t other)
{
	uint64_t now = clocks->processors[one].now, then = clocks->processors[other].now;

	return now < then || (now == then && one < other);
}

/* Called after the processor at the top has got a later clock, or has been replaced. */
static void sift_down(struct clocks *clocks)
{
	uint32_t *heap = clocks->heap, place = 0, moved = heap[0];

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child + 1 < clocks->heap_count && is_behind(clocks, heap[child + 1], heap[child]))
			child++;
		if (child >= clocks->heap_count || is_behind(clocks, moved, heap[child]))
			break;
		heap[place] = heap[child];
		place = child;
	}
	heap[place] = moved;
}

/* Random, from half to one and a half of the call's time: processors with equal times would always or never meet. */
static uint64_t call_time(struct clocks *clocks)
{
	uint32_t call = clocks->machine.call;

	return call / 2 + random_below(&clocks->random, call + 1);
}

static errcode_t create_resources(struct clocks *clocks, const struct clocks_options *options)
{
	const size_t counts[MODELLED_LOCKS] = {
		[LOCK_OF_GROUP] = options->groups,
		[LOCK_OF_FILESYSTEM] = 1,
		[LOCK_OF_ORPHANS] = 1,
		[LINE_OF_ORPHAN_BLOCK] = CLOCKS_MOST_ORPHAN_BLOCKS,
		[LINE_OF_LIST] = POLICY_MOST_LISTS,
	};

	for (unsigned int kind = 0; kind < MODELLED_LOCKS; kind++) {
		clocks->resources[kind] = calloc(counts[kind], sizeof(struct resource));
		if (!clocks->resources[kind])
			return ENOMEM;
	}
	return 0;
}

/* Binds streams to processors in turn. */
static errcode_t bind_streams(struct clocks *clocks, const struct clocks_options *options)
{
	uint32_t *next = clocks->streams = calloc(options->streams + 1, sizeof(*clocks->streams));

	clocks->processors = calloc(options->processors, sizeof(*clocks->processors));
	clocks->heap = calloc(options->processors, sizeof(*clocks->heap));
	if (!next || !clocks->processors || !clocks->heap)
		return ENOMEM;
	for (uint32_t number = 0; number < options->processors && number < options->streams; number++) {
		struct processor *processor = &clocks->processors[number];

		processor->streams = next;
		for (uint32_t stream = number; stream < options->streams; stream += options->processors)
			processor->streams[processor->count++] = stream;
		next += processor->count;
		clocks->heap[clocks->heap_count++] = number;
		clocks->current = number;
		processor->now = call_time(clocks);
		processor->slice_end = SLICE_NS;
	}
	/* Clocks in ascending order are a heap, too; they differ by less than a call. */
	for (uint32_t end = 1; end < clocks->heap_count; end++)
		for (uint32_t place = end;
		     place && is_behind(clocks, clocks->heap[place], clocks->heap[(place - 1) / 2]);
		     place = (place - 1) / 2) {
			uint32_t parent = clocks->heap[(place - 1) / 2];

			clocks->heap[(place - 1) / 2] = clocks->heap[place];
			clocks->heap[place] = parent;
		}
	return 0;
}

errcode_t clocks_create(const struct clocks_options *options, struct clocks **ret)
{
	struct clocks *clocks = calloc(1, sizeof(*clocks));

	if (!clocks)
		return ENOMEM;
	*clocks = (struct clocks){
		.contention = {
			.is_busy = is_busy,
			.has_taken = has_locked, /* marking the bitmap takes the lock again */
			.context = clocks,
			.has_locked = has_locked,
			.is_contended = is_contended,
		},
		.observer = { has_taken_global, has_taken_list, clocks },
		.machine = *options->machine,
		.processor_count = options->processors,
		.quota_ns = PERIOD_NS / 100 * options->cpu_percent,
		.random = options->seed,
	};
	errcode_t error = create_resources(clocks, options);
	if (!error)
		error = bind_streams(clocks, options);
	if (!error && clocks->quota_ns) {
		clocks->quotas = calloc(options->streams, sizeof(*clocks->quotas));
		error = clocks->quotas ? 0 : ENOMEM;
	}
	if (error) {
		clocks_destroy(clocks);
		return error;
	}
	*ret = clocks;
	return 0;
}

void clocks_destroy(struct clocks *clocks)
{
	if (!clocks)
		return;
	for (unsigned int kind = 0; kind < MODELLED_LOCKS; kind++)
		free(clocks->resources[kind]);
	free(clocks->processors);
	free(clocks->heap);
	free(clocks->streams);
	free(clocks->quotas);
	free(clocks);
}

const struct contention *clocks_contention(const struct clocks *clocks)
{
	return &clocks->contention;
}

const struct lock_observer *clocks_observer(const struct clocks *clocks)
{
	return &clocks->observer;
}

/* Whether the stream has time left in this period. */
static bool may_run(struct clocks *clocks, uint32_t stream, uint64_t now)
{
	struct quota *quota = clocks->quotas ? &clocks->quotas[stream] : NULL;

	if (!quota)
		return true;
	if (now / PERIOD_NS != quota->period)
		*quota = (struct quota){ .period = now / PERIOD_NS };
	return quota->used < clocks->quota_ns;
}

/* Moves to the processor's next stream that may run; false: none before the next period. */
static bool find_stream(struct clocks *clocks, struct processor *processor)
{
	if (processor->now >= processor->slice_end && processor->count > 1) {
		processor->turn++;
		processor->slice_end = processor->now + SLICE_NS;
	}
	for (uint32_t tried = 0; tried < processor->count; tried++, processor->turn++) {
		processor->turn %= processor->count;
		if (may_run(clocks, processor->streams[processor->turn], processor->now))
			return true;
	}
	return false;
}

unsigned int clocks_begin(struct clocks *clocks)
{
	for (;;) {
		clocks->current = clocks->heap[0];
		struct processor *processor = current(clocks);
		uint64_t before = processor->now;

		if (find_stream(clocks, processor)) {
			clocks->turn_begun = before;
			clocks->outer = NULL;
			clocks->is_paused = false;
			return processor->streams[processor->turn];
		}
		processor->now = (before / PERIOD_NS + 1) * PERIOD_NS;
		clocks->limited += processor->now - before;
		sift_down(clocks);
	}
}

/* Processors use the shared resource in turns; its time includes the hand-over. */
static void pass_journal(struct clocks *clocks)
{
	struct processor *processor = current(clocks);

	if (clocks->journal_free_at > processor->now) {
		clocks->waited += clocks->journal_free_at - processor->now;
		processor->now = clocks->journal_free_at;
	}
	processor->now += clocks->machine.shared;
	clocks->journal_free_at = processor->now;
}

void clocks_pause(struct clocks *clocks)
{
	clocks->is_paused = true;
}

void clocks_end(struct clocks *clocks, bool stream_is_over)
{
	struct processor *processor = current(clocks);

	if (!clocks->is_paused) {
		pass_journal(clocks);
		processor->now +=
			call_time(clocks) + (clocks->last_caller == clocks->current ? 0 : clocks->machine.far);
		clocks->last_caller = clocks->current;
	}
	if (processor->now > clocks->last)
		clocks->last = processor->now;
	if (clocks->quotas)
		clocks->quotas[processor->streams[processor->turn]].used += processor->now - clocks->turn_begun;
	if (stream_is_over) {
		processor->streams[processor->turn] = processor->streams[--processor->count];
		processor->slice_end = processor->now + SLICE_NS;
	}
	if (!processor->count)
		clocks->heap[0] = clocks->heap[--clocks->heap_count];
	if (clocks->heap_count)
		sift_down(clocks);
}

double clocks_now(const struct clocks *clocks)
{
	return (double)current(clocks)->now / 1e9;
}

struct clocks_cost clocks_cost(const struct clocks *clocks)
{
	double all = (double)clocks->last * clocks->processor_count;

	return (struct clocks_cost){
		.seconds = (double)clocks->last / 1e9,
		.waited_share = all > 0 ? (double)clocks->waited / all : 0,
		.limited_share = all > 0 ? (double)clocks->limited / all : 0,
	};
}
