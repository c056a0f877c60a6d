/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/streams/streams.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "allocator/core/lock.h"
#include "support/random.h"
#include "simulate/streams/processors.h"
#include "support/crc32c.h"
#include "support/seconds.h"
#include "support/run/interrupt.h"

/* Steps between checks for signals and other threads' errors. */
#define STEPS_AT_ONCE 1024

struct stream_run {
	struct simulation *simulation;
	unsigned int count;
	stream_step step;
	void *context;
	uint64_t step_bytes;
	const char *action;
	struct ext2mb_worker **workers; /* without threads one for each stream, else one for each thread */
	struct processors *processors;  /* without threads, to simulate contention */
	struct clocks *clocks;          /* or with a modelled machine */
	struct contention contention;
	void *bitmap; /* of a bitmap's size, for checksums */
	pthread_barrier_t start;
	_Atomic double begun; /* when the first thread passed the barrier; 0: none has */
	_Atomic bool has_failed;
	_Atomic uint64_t lock_waits;
};

/* The streams of one thread. */
struct share {
	unsigned int first;
	unsigned int *open; /* the streams that are not over */
	unsigned int open_count;
	unsigned int next; /* the next turn, if one process writes all streams */
	uint64_t random;
};

/* Runs up to STEPS_AT_ONCE turns. */
static errcode_t run_turns(struct stream_run *run, struct share *share, unsigned int thread, uint64_t *steps)
{
	bool is_in_order = run->simulation->is_one_process;
	bool has_worker_each = !run->simulation->threads && !is_in_order;

	for (*steps = 0; *steps < STEPS_AT_ONCE && share->open_count; ++*steps) {
		unsigned int turn =
			is_in_order ? share->next % share->open_count : random_below(&share->random, share->open_count);
		unsigned int stream = share->open[turn];
		bool is_over = false;

		if (run->processors)
			processors_turn(run->processors, stream);
		errcode_t error =
			run->step(run->context, run->workers[has_worker_each ? stream : thread], stream, &is_over);

		if (error)
			return error;
		share->next = turn + !is_over;
		if (is_over && is_in_order)
			memmove(share->open + turn, share->open + turn + 1,
			        (--share->open_count - turn) * sizeof(*share->open));
		else if (is_over)
			share->open[turn] = share->open[--share->open_count];
	}
	return 0;
}

errcode_t streams_commit(struct simulation *simulation)
{
	if (!simulation->clocks)
		return ext2mb_commit(simulation->image->mb);
	policy_observe_locks(simulation->image->mb, NULL);
	errcode_t error = ext2mb_commit(simulation->image->mb);

	policy_observe_locks(simulation->image->mb, clocks_observer(simulation->clocks));
	return error;
}

/* Runs a turn on the processor with the earliest clock. The allocator reports its locks through clocks_contention() and
 * clocks_observer(). */
static errcode_t run_modelled_turn(struct stream_run *run, struct share *share)
{
	unsigned int stream = clocks_begin(run->clocks);
	bool is_over = false;
	errcode_t error = run->step(run->context, run->workers[stream], stream, &is_over);

	clocks_end(run->clocks, is_over);
	share->open_count -= is_over;
	return error;
}

static errcode_t run_modelled_turns(struct stream_run *run, struct share *share, uint64_t *steps)
{
	errcode_t error = 0;

	for (*steps = 0; !error && *steps < STEPS_AT_ONCE && share->open_count; ++*steps)
		error = run_modelled_turn(run, share);
	return error;
}

static void add_progress(const struct stream_run *run, uint64_t steps)
{
	if (run->step_bytes == STREAMS_STEP_IS_FILE)
		progress_add(run->simulation->options->progress, 0, steps);
	else
		progress_add(run->simulation->options->progress, steps * run->step_bytes, 0);
}

static errcode_t run_share(void *context, unsigned int worker UNUSED, size_t thread, struct problem *problem)
{
	struct stream_run *run = context;
	unsigned int threads = run->simulation->threads ? run->simulation->threads : 1;
	struct share share = {
		.first = (unsigned int)((uint64_t)run->count * thread / threads),
		.random = run->simulation->options->seed + thread,
	};
	unsigned int end = (unsigned int)((uint64_t)run->count * (thread + 1) / threads);
	SCOPE_FREE unsigned int *open = calloc(end - share.first + 1, sizeof(*open));
	errcode_t error = open ? 0 : ENOMEM;

	for (share.open = open; open && share.first + share.open_count < end; share.open_count++)
		open[share.open_count] = share.first + share.open_count;
	/* All threads begin together, and the time is counted from then on. */
	pthread_barrier_wait(&run->start);
	double none = 0;
	atomic_compare_exchange_strong(&run->begun, &none, seconds_of(CLOCK_MONOTONIC));
	uint64_t waits = lock_waits_of_thread();
	while (!error && share.open_count && !atomic_load_explicit(&run->has_failed, memory_order_relaxed)) {
		uint64_t steps;

		error = interrupt_pending() ? EINTR :
		        run->clocks         ? run_modelled_turns(run, &share, &steps) :
		                              run_turns(run, &share, (unsigned int)thread, &steps);
		if (!error)
			add_progress(run, steps);
	}
	atomic_fetch_add(&run->lock_waits, lock_waits_of_thread() - waits);
	if (!error)
		return 0;
	atomic_store(&run->has_failed, true);
	return problem_set(problem, error, run->simulation->image->path, run->action);
}

static errcode_t open_workers(struct stream_run *run, unsigned int count)
{
	run->workers = calloc(count, sizeof(struct ext2mb_worker *));
	errcode_t error = run->workers ? 0 : ENOMEM;

	for (unsigned int index = 0; !error && index < count; index++)
		error = ext2mb_worker_open(run->simulation->image->mb, &run->workers[index]);
	return error;
}

static errcode_t run_shares(struct stream_run *run, unsigned int threads, struct streams_cost *cost)
{
	struct simulation *simulation = run->simulation;
	errcode_t error = pthread_barrier_init(&run->start, NULL, threads);

	if (error)
		return error;
	double processor_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	error = pool_run(simulation->pool, threads, run_share, run, simulation->problem);
	*cost = (struct streams_cost){
		.seconds = seconds_of(CLOCK_MONOTONIC) - run->begun,
		.processor_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor_start,
		.lock_waits = run->lock_waits,
	};
	pthread_barrier_destroy(&run->start);
	return error;
}

unsigned int streams_wanted(const struct simulation *simulation, uint64_t asked)
{
	unsigned int processors = simulation->options->machine ? simulation->processors : 1;

	return asked ? (unsigned int)asked : simulation->threads ? simulation->threads : processors;
}

static bool is_never_busy(void *context UNUSED, uint32_t group UNUSED)
{
	return false;
}

/* Called under the group's lock. The bytes' values do not matter for the time. */
static void compute_checksum(void *context, uint32_t group)
{
	const struct stream_run *run = context;
	volatile uint32_t sink = crc32c(group, run->bitmap, run->simulation->image->format.block_bytes);

	(void)sink;
}

static errcode_t pretend_checksums(struct stream_run *run)
{
	struct simulation *simulation = run->simulation;

	if (!simulation->threads || !simulation->options->checksums)
		return 0;
	run->bitmap = calloc(1, simulation->image->format.block_bytes);
	if (!run->bitmap)
		return ENOMEM;
	run->contention =
		(struct contention){ .is_busy = is_never_busy, .has_taken = compute_checksum, .context = run };
	contention_simulate(simulation->image->mb, &run->contention);
	return 0;
}

static errcode_t pretend_machine(struct stream_run *run)
{
	struct simulation *simulation = run->simulation;
	const struct clocks_options options = {
		.machine = simulation->options->machine,
		.processors = simulation->processors,
		.streams = run->count,
		.groups = simulation->image->geometry.groups,
		.cpu_percent = simulation->options->cpu_percent,
		.seed = simulation->options->seed,
	};
	errcode_t error = clocks_create(&options, &run->clocks);

	if (error)
		return error;
	simulation->clocks = run->clocks;
	contention_simulate(simulation->image->mb, clocks_contention(run->clocks));
	policy_observe_locks(simulation->image->mb, clocks_observer(run->clocks));
	return 0;
}

static errcode_t pretend_processors(struct stream_run *run)
{
	struct simulation *simulation = run->simulation;
	uint32_t groups = simulation->image->geometry.groups;

	if (simulation->options->machine && !simulation->threads)
		return pretend_machine(run);
	if (simulation->threads || simulation->is_one_process || simulation->processors < 2)
		return 0;
	errcode_t error = processors_create(simulation->processors, run->count, groups, &run->processors);

	if (!error)
		contention_simulate(simulation->image->mb, processors_contention(run->processors));
	return error;
}

static void close_workers(struct stream_run *run, unsigned int count)
{
	for (unsigned int index = 0; run->workers && index < count; index++)
		if (run->workers[index])
			ext2mb_worker_close(run->workers[index]);
	free(run->workers);
}

errcode_t streams_run(struct simulation *simulation, unsigned int count, stream_step step, void *context,
                      uint64_t step_bytes, const char *action, struct streams_cost *cost)
{
	struct stream_run run = {
		.simulation = simulation,
		.count = count,
		.step = step,
		.context = context,
		.step_bytes = step_bytes,
		.action = action,
	};
	unsigned int threads = simulation->threads ? simulation->threads : 1;
	unsigned int workers = simulation->is_one_process ? 1 : simulation->threads ? simulation->threads : count;
	errcode_t error = open_workers(&run, workers);

	if (!error)
		error = pretend_processors(&run);
	if (!error)
		error = pretend_checksums(&run);
	if (!error)
		error = run_shares(&run, threads, cost);
	contention_simulate(simulation->image->mb, NULL);
	policy_observe_locks(simulation->image->mb, NULL);
	if (!error && run.clocks)
		cost->modelled = clocks_cost(run.clocks);
	simulation->clocks = NULL;
	clocks_destroy(run.clocks);
	processors_destroy(run.processors);
	free(run.bitmap);
	close_workers(&run, workers);
	return error ? problem_set(simulation->problem, error, simulation->image->path, action) : 0;
}
