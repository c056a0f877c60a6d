/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pool of worker threads that divide the indexes of a job among them, and a serial pool with the same interface.
 *
 * A task may access only data of its index (or of its worker), so the result cannot depend on the number of threads.
 * The tests compare with the serial pool.
 */
#pragma once

#include <stddef.h>

#include "support/problem.h"

struct pool;

/* One unit of work. worker is in [0, pool_workers()); two tasks with the same worker never run at once. */
typedef errcode_t (*pool_task)(void *context, unsigned int worker, size_t index, struct problem *problem);

/*
 * Makes a pool of `threads` workers. 0 makes the serial pool: one worker, which is the calling thread. The threads
 * block all signals, so signals reach the main thread. Errors: ENOMEM, EAGAIN.
 */
MUST_CHECK errcode_t pool_create(unsigned int threads, struct pool **ret);

/*
 * The same for work that may wait for something other than a processor. Begins with `threads` workers, at least 1,
 * and doubles them, up to `most`, whenever running workers are found blocked in most examinations, which take place
 * every 10 ms. Workers that wait for a processor do not count as blocked, so other work on the machine adds none.
 * pool_workers() is `most`, or `threads` if there are more of these, so data of each worker should cost little until it
 * is used.
 */
MUST_CHECK errcode_t pool_create_elastic(unsigned int threads, unsigned int most, struct pool **ret);

/* The number of workers with which the next job begins. */
unsigned int pool_active(const struct pool *pool);

/* Called around a wait that more workers would not shorten: it does not count as blocked. Any thread; NULL is
 * allowed. */
void pool_pause(struct pool *pool);
void pool_resume(struct pool *pool);

/* Waits for the threads to end; NULL is allowed. */
void pool_destroy(struct pool *pool);

unsigned int pool_workers(const struct pool *pool);

/*
 * Runs task for every index in [0, count), handed out in ascending order, and returns when all are done. After a
 * failure no further index is handed out. Every index below a failed one has been handed out already, so the failure
 * with the lowest index is the same for any number of threads: it is returned and moved to *problem. A task that
 * fails without filling in its problem is recorded with its error alone. Once a signal has arrived
 * (support/run/interrupt.h) no task begins any more: EINTR. Only one thread may call this at a time; not from within
 * a task.
 */
MUST_CHECK errcode_t pool_run(struct pool *pool, size_t count, pool_task task, void *context, struct problem *problem);

/*
 * Wall-clock seconds of all jobs since the pool was made. Jobs of one index are left out: they occupy one thread and
 * belong to the serial part. Called by the thread that calls pool_run(), between jobs.
 */
double pool_seconds(const struct pool *pool);

/* The part of pool_seconds() during which this worker worked. */
double pool_worker_seconds(const struct pool *pool, unsigned int worker);
