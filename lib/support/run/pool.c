/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/pool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cleanup.h"
#include "support/run/interrupt.h"
#include "support/scope_lock.h"
#include "support/seconds.h"

/* Two cache lines, because processors fetch neighbouring lines in pairs. */
#define CACHE_LINE_BYTES 128

/*
 * Indexes are handed out in steps of at most this many, and small enough that every worker comes back at least this
 * often: then the shared counter costs nothing, and no worker has much left when the others are done.
 */
#define LARGEST_STEP 16
#define STEPS_PER_WORKER 64

/*
 * How often the workers of an elastic pool are examined, and the least number of examinations before a decision: two
 * workers are examined four times.
 */
#define LOOK_SECONDS 0.01
#define LEAST_LOOKS 8
/* If workers were blocked in more than this part of the examinations, their number is doubled; if in less than the
 * other part, the next job begins with half of them. */
#define BLOCKED_PART 0.6
#define BUSY_PART 0.2

struct job {
	pool_task task;
	void *context;
	size_t count;
	size_t step;
};

struct pool {
	/* Every worker writes these while a job runs, so they are on cache lines of their own. */
	alignas(CACHE_LINE_BYTES) atomic_size_t next;
	alignas(CACHE_LINE_BYTES) atomic_size_t lowest_failed; /* SIZE_MAX: none */

	alignas(CACHE_LINE_BYTES) struct job job; /* read only while it runs */
	unsigned int workers;
	unsigned int started; /* threads; 0: the serial pool */
	struct worker *threads;
	double *worker_seconds; /* each written by its worker, while a job runs */
	double seconds;

	bool ending; /* set before `work` is posted for the last time */

	/*
	 * Semaphores are simpler here than condition variables, and those of glibc before 2.41 can lose a wake-up
	 * (bug 25847). Each post of `work` is a place for one worker; a worker that comes back early takes the place
	 * of one that has not woken up yet.
	 */
	alignas(CACHE_LINE_BYTES) sem_t work;
	atomic_uint busy; /* places that are not finished yet; the last one posts done */
	sem_t done;

	pthread_mutex_t failure_lock;
	struct problem failure; /* of lowest_failed */

	/* For elastic pools. Only the thread that runs the job uses these, except paused. */
	bool is_elastic;
	unsigned int least, active; /* workers that a job begins with */
	int busy_looks, blocked_looks;
	alignas(CACHE_LINE_BYTES) atomic_int paused; /* number of workers in pool_pause() */
};

struct worker {
	struct pool *pool;
	pthread_t thread;
	_Atomic pid_t id; /* 0: it has not begun yet */
};

static void record_failure(struct pool *pool, size_t index, errcode_t error, struct problem *problem)
{
	if (!problem->error)
		problem->error = error;
	SCOPE_LOCK(&pool->failure_lock);
	if (index < atomic_load_explicit(&pool->lowest_failed, memory_order_relaxed)) {
		atomic_store_explicit(&pool->lowest_failed, index, memory_order_relaxed);
		problem_move(&pool->failure, problem);
	}
}

/*
 * An index is skipped only if a lower one has failed. So with any timing the lowest index that can fail is run: a
 * step that begins below a failed index was handed out before that one, and is finished up to it.
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
			/* The task went on after this problem, so it is not the cause of a later failure. */
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

/* Starts threads until there are `count`. */
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
	return create(threads, most > threads ? most : threads, most > threads, ret);
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

void pool_pause(struct pool *pool)
{
	if (pool)
		atomic_fetch_add_explicit(&pool->paused, 1, memory_order_relaxed);
}

void pool_resume(struct pool *pool)
{
	if (pool)
		atomic_fetch_sub_explicit(&pool->paused, 1, memory_order_relaxed);
}

/*
 * Only the thread's state in /proc distinguishes one that waits for I/O or a lock (S, D) from one that waits for a
 * processor (R); clocks do not. It follows the name in parentheses, which may have any bytes.
 */
static bool is_blocked(const struct worker *worker)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
	         (int)atomic_load_explicit(&worker->id, memory_order_relaxed));
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = descriptor < 0 ? 0 : read(descriptor, text, sizeof(text));
	const char *name_end = bytes > 0 ? memrchr(text, ')', (size_t)bytes) : NULL;

	return name_end && name_end + 2 < text + bytes && strchr("SD", name_end[2]);
}

/* Adds places to the running job, unless it is over. */
static void add_places(struct pool *pool, unsigned int count)
{
	unsigned int busy = atomic_load_explicit(&pool->busy, memory_order_relaxed);

	while (busy && !atomic_compare_exchange_weak_explicit(&pool->busy, &busy, busy + count, memory_order_relaxed,
	                                                      memory_order_relaxed))
		;
	for (unsigned int i = 0; busy && i < count; i++)
		sem_post(&pool->work);
}

/* Doubles the workers, also for this job. If the system refuses further threads, their number stays. */
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

/* Examines the workers. Some may have run out of work meanwhile; threads without work are blocked, and so are those
 * that pause. */
static void look(struct pool *pool)
{
	int busy = (int)atomic_load_explicit(&pool->busy, memory_order_relaxed);
	int blocked = busy - (int)pool->started - atomic_load_explicit(&pool->paused, memory_order_relaxed);

	for (unsigned int i = 0; i < pool->started; i++)
		blocked += is_blocked(&pool->threads[i]);
	pool->busy_looks += busy;
	pool->blocked_looks += blocked > 0 ? blocked : 0;
	if (pool->busy_looks < LEAST_LOOKS)
		return;
	if (pool->blocked_looks > BLOCKED_PART * pool->busy_looks && pool->active < pool->workers)
		grow(pool);
	else if (pool->blocked_looks < BUSY_PART * pool->busy_looks)
		pool->active = pool->active / 2 > pool->least ? pool->active / 2 : pool->least;
	pool->busy_looks = pool->blocked_looks = 0;
}

/* Waits until the job is done, and adds workers meanwhile. */
static void wait_and_look(struct pool *pool)
{
	for (;;) {
		/* Examine less often once there are as many workers as allowed. */
		double wait = pool->active < pool->workers ? LOOK_SECONDS : 10 * LOOK_SECONDS;
		const struct timespec until = seconds_timespec(seconds_of(CLOCK_MONOTONIC) + wait);

		if (!sem_clockwait(&pool->done, CLOCK_MONOTONIC, &until)) {
			/* ThreadSanitizer (GCC 12) does not know sem_clockwait(): this load orders the workers'
			 * writes for it, too. */
			(void)atomic_load_explicit(&pool->busy, memory_order_acquire);
			return;
		}
		assert(errno == ETIMEDOUT || errno == EINTR);
		look(pool);
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

	/* A job of one index wakes no thread: the calling thread is worker 0 meanwhile. */
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
