/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/pool.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "support/cleanup.h"
#include "support/run/interrupt.h"
#include "support/seconds.h"

/* Two lines: processors fetch neighbouring lines in pairs. */
#define CACHE_LINE_BYTES 128

/*
 * Indexes are handed out in steps of at most this many, and in so small ones that every worker comes back at
 * least this often: a shared counter costs nothing then, and no worker is left with much when the others are done.
 */
#define LARGEST_STEP 16
#define STEPS_PER_WORKER 64

/* How long is measured before workers are added: so many times what a thread may run before another gets the processor.
 */
#define WINDOW_SECONDS 0.01
/* Blocked for more than this part of it, workers are doubled; for less than that one, the next job begins with half. */
#define BLOCKED_PART 0.6
#define BUSY_PART 0.2

struct job {
	pool_task task;
	void *context;
	size_t count;
	size_t step;
};

/* A part of a job in which the workers' times are looked at: what those were when it began. */
struct window {
	double begin, elsewhere;
	unsigned int busy; /* workers */
};

struct pool {
	/* Written by every worker while a job runs, so on lines of their own. */
	alignas(CACHE_LINE_BYTES) atomic_size_t next;
	alignas(CACHE_LINE_BYTES) atomic_size_t lowest_failed; /* SIZE_MAX: none */

	alignas(CACHE_LINE_BYTES) struct job job; /* read only while it runs */
	unsigned int workers;
	unsigned int started; /* threads; 0: the serial twin */
	struct worker *threads;
	double *worker_seconds; /* each written by its worker, while a job runs */
	double seconds;

	bool ending; /* set before `work` is posted for the last time */

	/*
	 * Semaphores rather than condition variables: simpler here, and those of glibc before 2.41 can lose a wake-up
	 * (bug 25847). Each post of work is a place for one worker; a worker that is quick to come back takes the place
	 * of one that has not woken up yet.
	 */
	alignas(CACHE_LINE_BYTES) sem_t work;
	atomic_uint busy; /* places that are not finished yet; the last one posts done */
	sem_t done;

	pthread_mutex_t failure_lock;
	struct problem failure; /* of lowest_failed */

	/* Of an elastic pool; but for blocked_elsewhere only the thread that runs the job looks at them. */
	bool is_elastic;
	unsigned int least, active; /* workers that a job begins with */
	struct window window;
	alignas(CACHE_LINE_BYTES) _Atomic uint64_t blocked_elsewhere; /* nanoseconds: pool_note_blocked() */
};

struct worker {
	struct pool *pool;
	pthread_t thread;
	_Atomic pid_t id;          /* 0: it has not begun yet */
	double processor, delayed; /* seconds, when the window of an elastic pool began */
};

static void record_failure(struct pool *pool, size_t index, errcode_t error, struct problem *problem)
{
	if (!problem->error)
		problem->error = error;
	pthread_mutex_lock(&pool->failure_lock);
	if (index < atomic_load_explicit(&pool->lowest_failed, memory_order_relaxed)) {
		atomic_store_explicit(&pool->lowest_failed, index, memory_order_relaxed);
		problem_move(&pool->failure, problem);
	}
	pthread_mutex_unlock(&pool->failure_lock);
}

/*
 * An index is left out only if a lower one has failed. So whatever the timing, the lowest index that can fail
 * is run: a step that begins below a failed index was handed out before that one, and is finished up to it.
 */
static void run_indexes(struct pool *pool, unsigned int worker)
{
	const struct job job = pool->job;
	struct problem problem = { 0 };

	while (atomic_load_explicit(&pool->lowest_failed, memory_order_relaxed) == SIZE_MAX) {
		size_t start = atomic_fetch_add_explicit(&pool->next, job.step, memory_order_relaxed);

		if (start >= job.count)
			break;
		size_t end = job.count - start < job.step ? job.count : start + job.step;
		for (size_t i = start; i < end; i++) {
			if (i > atomic_load_explicit(&pool->lowest_failed, memory_order_relaxed))
				break;
			errcode_t error = interrupt_pending() ? problem_set(&problem, EINTR, NULL, "stopped") :
			                                        job.task(job.context, worker, i, &problem);

			if (error) {
				record_failure(pool, i, error, &problem);
				break;
			}
			/* A task that went on after a problem: not the cause of a later failure. */
			if (problem.error)
				problem_clear(&problem);
		}
	}
	problem_clear(&problem);
}

static void run_and_count(struct pool *pool, unsigned int worker)
{
	double begin = seconds_of(CLOCK_MONOTONIC);

	run_indexes(pool, worker);
	pool->worker_seconds[worker] += seconds_of(CLOCK_MONOTONIC) - begin;
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		assert(errno == EINTR);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct pool *pool = worker->pool;

	atomic_store_explicit(&worker->id, gettid(), memory_order_relaxed);
	for (;;) {
		wait_for(&pool->work);
		if (pool->ending)
			return NULL;
		run_and_count(pool, (unsigned int)(worker - pool->threads));
		if (atomic_fetch_sub_explicit(&pool->busy, 1, memory_order_acq_rel) == 1)
			sem_post(&pool->done);
	}
}

/* Up to so many. */
static errcode_t start_threads(struct pool *pool, unsigned int count)
{
	for (; pool->started < count; pool->started++) {
		struct worker *worker = &pool->threads[pool->started];

		worker->pool = pool;
		int error = thread_start(&worker->thread, worker_main, worker);

		if (error)
			return error;
	}
	return 0;
}

static errcode_t create(unsigned int threads, unsigned int most, bool is_elastic, struct pool **ret)
{
	/* calloc() would not align the counters. */
	struct pool *pool = aligned_alloc(CACHE_LINE_BYTES, sizeof(*pool));

	*ret = NULL;
	if (!pool)
		return ENOMEM;
	*pool = (struct pool){
		.workers = most ? most : 1, .is_elastic = is_elastic, .least = threads, .active = threads
	};
	pthread_mutex_init(&pool->failure_lock, NULL);
	sem_init(&pool->work, 0, 0);
	sem_init(&pool->done, 0, 0);
	pool->worker_seconds = calloc(pool->workers, sizeof(*pool->worker_seconds));
	pool->threads = calloc(pool->workers, sizeof(*pool->threads));
	errcode_t error = pool->worker_seconds && pool->threads ? start_threads(pool, threads) : ENOMEM;

	if (error)
		pool_destroy(pool);
	else
		*ret = pool;
	return error;
}

errcode_t pool_create(unsigned int threads, struct pool **ret)
{
	return create(threads, threads, false, ret);
}

errcode_t pool_create_elastic(unsigned int threads, unsigned int most, struct pool **ret)
{
	return create(threads, most, most > threads, ret);
}

void pool_destroy(struct pool *pool)
{
	if (!pool)
		return;
	pool->ending = true;
	for (unsigned int i = 0; i < pool->started; i++)
		sem_post(&pool->work);
	for (unsigned int i = 0; i < pool->started; i++)
		pthread_join(pool->threads[i].thread, NULL);
	sem_destroy(&pool->done);
	sem_destroy(&pool->work);
	pthread_mutex_destroy(&pool->failure_lock);
	free(pool->threads);
	free(pool->worker_seconds);
	free(pool);
}

unsigned int pool_workers(const struct pool *pool)
{
	return pool->workers;
}

unsigned int pool_active(const struct pool *pool)
{
	return pool->is_elastic ? pool->active : pool->workers;
}

void pool_note_blocked(struct pool *pool, double seconds)
{
	if (pool && pool->is_elastic && seconds > 0)
		atomic_fetch_add_explicit(&pool->blocked_elsewhere, (uint64_t)(seconds * 1e9), memory_order_relaxed);
}

/* How long a thread was ready to run but had no processor; 0 where the kernel does not say. */
static double delayed_seconds(pid_t id)
{
	char path[64];
	unsigned long long ran, delayed;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)id);
	SCOPE_FCLOSE FILE *stream = fopen(path, "re");

	return stream && fscanf(stream, "%llu %llu", &ran, &delayed) == 2 ? (double)delayed / 1e9 : 0;
}

/* That is known only once it has run again: whether it runs or would like to. */
static bool wants_processor(pid_t id)
{
	char path[64], state = 'S';

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
	SCOPE_FCLOSE FILE *stream = fopen(path, "re");

	return stream && fscanf(stream, "%*d (%*[^)]) %c", &state) == 1 && state == 'R';
}

/* For how many of the last `wall` seconds a worker's thread was blocked; begins its next window. */
static double blocked_seconds(struct worker *worker, double wall)
{
	pid_t id = atomic_load_explicit(&worker->id, memory_order_relaxed);
	clockid_t clock;

	if (!id)
		return 0;
	double processor = pthread_getcpuclockid(worker->thread, &clock) ? 0 : seconds_of(clock);
	double delayed = delayed_seconds(id);
	double blocked = wall - (processor - worker->processor) - (delayed - worker->delayed);

	worker->processor = processor;
	worker->delayed = delayed;
	return blocked < 0 || wants_processor(id) ? 0 : blocked;
}

static double elsewhere_seconds(struct pool *pool)
{
	return (double)atomic_load_explicit(&pool->blocked_elsewhere, memory_order_relaxed) / 1e9;
}

/* Gives how long all threads were blocked in the window that ends; those without work are blocked all the time. */
static double begin_window(struct pool *pool, double wall)
{
	double blocked = 0;

	for (unsigned int i = 0; i < pool->started; i++)
		blocked += blocked_seconds(&pool->threads[i], wall);
	pool->window = (struct window){
		seconds_of(CLOCK_MONOTONIC),
		elsewhere_seconds(pool),
		atomic_load_explicit(&pool->busy, memory_order_relaxed),
	};
	return blocked;
}

/* Adds places to the job that runs, unless it is over. */
static void add_places(struct pool *pool, unsigned int count)
{
	unsigned int busy = atomic_load_explicit(&pool->busy, memory_order_relaxed);

	while (busy && !atomic_compare_exchange_weak_explicit(&pool->busy, &busy, busy + count, memory_order_relaxed,
	                                                      memory_order_relaxed))
		;
	for (unsigned int i = 0; busy && i < count; i++)
		sem_post(&pool->work);
}

/* Doubles the workers, for this job too. Where the system gives no more threads there are as many as there are. */
static void grow(struct pool *pool)
{
	unsigned int before = pool->active, wanted = before > pool->workers / 2 ? pool->workers : 2 * before;
	errcode_t error = start_threads(pool, wanted);
	size_t next = atomic_load_explicit(&pool->next, memory_order_relaxed);

	(void)error;
	pool->active = wanted < pool->started ? wanted : pool->started;
	if (next < pool->job.count && pool->active > before)
		add_places(pool, pool->active - before);
}

/* Looks at what the workers did since the window began. Some may have run out of work meanwhile. */
static void end_window(struct pool *pool)
{
	const struct window before = pool->window;
	double wall = seconds_of(CLOCK_MONOTONIC) - before.begin, blocked = begin_window(pool, wall);
	unsigned int busy = pool->window.busy < before.busy ? pool->window.busy : before.busy;
	double all = wall * busy;

	blocked -= wall * (pool->started - busy) + (pool->window.elsewhere - before.elsewhere);
	if (blocked > BLOCKED_PART * all && pool->active < pool->workers)
		grow(pool);
	else if (blocked < BUSY_PART * all)
		pool->active = pool->active / 2 > pool->least ? pool->active / 2 : pool->least;
}

/* Waits until the job is done, and adds workers meanwhile. */
static void wait_and_look(struct pool *pool)
{
	for (bool has_begun = false;; has_begun = true) {
		/* Nothing is urgent any more when there are as many as there can be. */
		double wait = pool->active < pool->workers ? WINDOW_SECONDS : 10 * WINDOW_SECONDS;
		const struct timespec until = seconds_timespec(seconds_of(CLOCK_MONOTONIC) + wait);

		if (!sem_clockwait(&pool->done, CLOCK_MONOTONIC, &until)) {
			/* ThreadSanitizer (GCC 12) does not know sem_clockwait(): what the workers did is seen by this,
			 * too. */
			(void)atomic_load_explicit(&pool->busy, memory_order_acquire);
			return;
		}
		assert(errno == ETIMEDOUT || errno == EINTR);
		if (has_begun)
			end_window(pool);
		else
			begin_window(pool, 0);
	}
}

/* Wakes no more workers than there are steps: waking one costs several microseconds. */
static void run_on_threads(struct pool *pool)
{
	size_t steps = (pool->job.count - 1) / pool->job.step + 1;
	unsigned int most = pool_active(pool), places = steps < most ? (unsigned int)steps : most;

	atomic_store_explicit(&pool->busy, places, memory_order_relaxed);
	for (unsigned int i = 0; i < places; i++)
		sem_post(&pool->work);
	if (pool->is_elastic)
		wait_and_look(pool);
	else
		wait_for(&pool->done);
}

double pool_seconds(const struct pool *pool)
{
	return pool->seconds;
}

double pool_worker_seconds(const struct pool *pool, unsigned int worker)
{
	return pool->worker_seconds[worker];
}

errcode_t pool_run(struct pool *pool, size_t count, pool_task task, void *context, struct problem *problem)
{
	size_t step = count / ((size_t)pool->workers * STEPS_PER_WORKER);

	assert(!atomic_load_explicit(&pool->busy, memory_order_relaxed));
	if (!count)
		return 0;
	step = step < 1 ? 1 : step > LARGEST_STEP ? LARGEST_STEP : step;
	pool->job = (struct job){ task, context, count, step };
	atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
	atomic_store_explicit(&pool->lowest_failed, SIZE_MAX, memory_order_relaxed);
	double begin = seconds_of(CLOCK_MONOTONIC);

	/* A job of one index is not worth waking anybody: the calling thread is worker 0 meanwhile. */
	if (count == 1)
		run_indexes(pool, 0);
	else if (!pool->started)
		run_and_count(pool, 0);
	else
		run_on_threads(pool);
	if (count > 1)
		pool->seconds += seconds_of(CLOCK_MONOTONIC) - begin;
	if (atomic_load_explicit(&pool->lowest_failed, memory_order_relaxed) == SIZE_MAX)
		return 0;

	errcode_t error = pool->failure.error;

	if (problem)
		problem_move(problem, &pool->failure);
	else
		problem_clear(&pool->failure);
	return error;
}
