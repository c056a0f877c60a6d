/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pool of worker threads that share out the indexes of a job, and its serial twin.
 *
 * Workers do no ordering: a task may touch only what belongs to its index (or to its worker), so the
 * result cannot depend on how many threads ran. The serial twin behind the same interface is the reference
 * that the tests compare with.
 */
#pragma once

#include <stddef.h>

#include "support/problem.h"

struct pool;

/* One unit of work. worker is in [0, pool_workers()); two tasks with the same worker never run at once. */
typedef errcode_t (*pool_task)(void *context, unsigned int worker, size_t index, struct problem *problem);

/*
 * Makes a pool of `threads` workers. 0 makes the serial twin: one worker, which is the calling thread.
 * The threads block all signals, so signals reach the main thread. Errors: ENOMEM, EAGAIN.
 */
MUST_CHECK errcode_t pool_create(unsigned int threads, struct pool **ret);

/*
 * The same for work that may wait for something else than a processor: begins with `threads` workers, at least 1, and
 * doubles them, up to `most`, whenever those that run are found blocked most times that they are looked at, each 10 ms.
 * Those that wait for a processor do not count as blocked, so that other work on the machine adds none. pool_workers()
 * is `most`: what there is one of for each worker should cost little until it is used.
 */
MUST_CHECK errcode_t pool_create_elastic(unsigned int threads, unsigned int most, struct pool **ret);

/* How many workers the next job begins with. */
unsigned int pool_active(const struct pool *pool);

/* Around a task's wait for what more workers would not shorten, which does not count. Any thread; NULL is allowed. */
void pool_pause(struct pool *pool);
void pool_resume(struct pool *pool);

/* Waits for the threads to end; NULL is allowed. */
void pool_destroy(struct pool *pool);

unsigned int pool_workers(const struct pool *pool);

/*
 * Runs task for every index in [0, count), handed out in ascending order, and returns when all are done.
 * After a failure no further index is handed out. Since every index below a failed one has been handed out
 * already, the failure with the lowest index is the same for any number of threads: it is the one that is
 * returned and moved to *problem. A task that fails without filling in its problem is recorded with its
 * error alone. Once a signal has arrived (support/run/interrupt.h) no task begins any more: EINTR. Only one thread may
 * call this at a time; not from within a task.
 */
MUST_CHECK errcode_t pool_run(struct pool *pool, size_t count, pool_task task, void *context, struct problem *problem);

/*
 * How long jobs have run since the pool was made, in seconds that went by. Jobs of one index are left out: they occupy
 * one thread, so what is not counted here is the serial part. For the thread that calls pool_run(), between jobs.
 */
double pool_seconds(const struct pool *pool);

/* Of that, how long this worker was at it. */
double pool_worker_seconds(const struct pool *pool, unsigned int worker);
