/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/run/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <stdatomic.h>
#include <unistd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "seeded_random.h"
#include "support/run/interrupt.h"
#include "support/seconds.h"
#include "unit.h"

static const unsigned int thread_counts[] = { 0, 1, 2, 3, 7, 65, 200 };

#define THREAD_COUNTS (sizeof(thread_counts) / sizeof(thread_counts[0]))

static struct pool *make_pool(unsigned int threads)
{
	struct pool *pool;

	ck_assert_int_eq(pool_create(threads, &pool), 0);
	ck_assert_uint_eq(pool_workers(pool), threads ? threads : 1);
	return pool;
}

struct counting {
	unsigned int workers;
	atomic_uint *runs;     /* per index */
	atomic_uint busy[200]; /* per worker */
	atomic_uint overlaps;
};

static errcode_t count_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct counting *counting = context;

	(void)problem;
	if (worker >= counting->workers || atomic_fetch_add(&counting->busy[worker], 1))
		atomic_fetch_add(&counting->overlaps, 1);
	atomic_fetch_add(&counting->runs[index], 1);
	if (index % 64 == 0)
		sched_yield();
	atomic_fetch_sub(&counting->busy[worker], 1);
	return 0;
}

static errcode_t sleep_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	(void)context;
	(void)worker;
	(void)index;
	(void)problem;
	usleep(20000);
	return 0;
}

START_TEST(time_is_counted)
{
	struct pool *pool = make_pool(thread_counts[_i]);
	double of_workers = 0;

	ck_assert_int_eq(pool_run(pool, 1, sleep_task, NULL, NULL), 0);
	ck_assert_double_eq(pool_seconds(pool), 0);
	ck_assert_double_eq(pool_worker_seconds(pool, 0), 0);
	ck_assert_int_eq(pool_run(pool, 2, sleep_task, NULL, NULL), 0);
	for (unsigned int worker = 0; worker < pool_workers(pool); worker++)
		of_workers += pool_worker_seconds(pool, worker);
	ck_assert_double_ge(pool_seconds(pool), pool_workers(pool) > 1 ? 0.02 : 0.04);
	ck_assert_double_ge(of_workers, 0.04);
	ck_assert_double_le(of_workers, pool_seconds(pool) * pool_workers(pool));
	pool_destroy(pool);
}
END_TEST

START_TEST(every_index_runs_once)
{
	static const size_t counts[] = { 0, 1, 2, 3, 15, 16, 17, 1000, 20000 };
	struct pool *pool = make_pool(thread_counts[_i]);

	for (size_t i = 0; i < 3 * sizeof(counts) / sizeof(counts[0]); i++) {
		size_t count = counts[i % (sizeof(counts) / sizeof(counts[0]))];
		struct counting counting = { .workers = pool_workers(pool),
			                     .runs = calloc(count + 1, sizeof(atomic_uint)) };
		struct problem problem = { 0 };

		ck_assert_int_eq(pool_run(pool, count, count_task, &counting, &problem), 0);
		for (size_t index = 0; index < count; index++)
			ck_assert_uint_eq(counting.runs[index], 1);
		ck_assert_uint_eq(counting.overlaps, 0);
		ck_assert_int_eq(problem.error, 0);
		free(counting.runs);
	}
	pool_destroy(pool);
}
END_TEST

/* What one job writes, the caller and the next job's workers read, without atomics: for the thread sanitizer. */
static errcode_t sum_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	size_t *values = context;

	(void)worker;
	(void)problem;
	values[index] = values[index] * 3 + index;
	return 0;
}

START_TEST(jobs_follow_each_other)
{
	enum { COUNT = 50, JOBS = 300 };
	size_t values[COUNT] = { 0 }, expected[COUNT] = { 0 };
	struct pool *pool = make_pool(thread_counts[_i]);

	for (int job = 0; job < JOBS; job++) {
		size_t count = (size_t)job % COUNT + 1;

		for (size_t i = 0; i < count; i++)
			expected[i] = expected[i] * 3 + i;
		ck_assert_int_eq(pool_run(pool, count, sum_task, values, NULL), 0);
		ck_assert_mem_eq(values, expected, sizeof(values));
	}
	pool_destroy(pool);
}
END_TEST

struct failing {
	const unsigned char *fails; /* per index */
	atomic_size_t runs;
	size_t lowest;
	atomic_bool later_failed;
};

/*
 * The index before the lowest failing one, mostly of the same step, waits for a failure of a higher index: it must
 * not keep the rest of the step from being run. With one thread there is none to wait for.
 */
static void wait_for_later_failure(struct failing *failing)
{
	for (int i = 0; i < 200 && !atomic_load(&failing->later_failed); i++)
		sched_yield();
}

static errcode_t fail_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct failing *failing = context;
	char path[32];

	(void)worker;
	atomic_fetch_add(&failing->runs, 1);
	if (index + 1 == failing->lowest)
		wait_for_later_failure(failing);
	if (!failing->fails[index])
		return 0;
	if (index > failing->lowest)
		atomic_store(&failing->later_failed, true);
	if (failing->fails[index] == 2)
		return 1000 + (errcode_t)index;
	snprintf(path, sizeof(path), "%zu", index);
	return problem_set(problem, 1000 + (errcode_t)index, path, "failed");
}

START_TEST(the_lowest_failure_is_the_one)
{
	enum { COUNT = 3000 };
	struct random random = random_start("the_lowest_failure_is_the_one");
	struct pool *pool = make_pool(thread_counts[_i]);
	unsigned char fails[COUNT];

	for (int round = 0; round < 200; round++) {
		struct problem problem = { 0 };
		struct failing failing = { .fails = fails };
		size_t lowest = failing.lowest = random_below(&random, COUNT);
		char path[32];

		memset(fails, 0, sizeof(fails));
		fails[lowest] = (unsigned char)(1 + round % 2);
		for (size_t i = lowest + 1; i < COUNT; i++)
			fails[i] = random_below(&random, 3) ? 0 : 1;
		errcode_t error = pool_run(pool, COUNT, fail_task, &failing, &problem);

		ck_assert_int_eq(error, 1000 + (errcode_t)lowest);
		ck_assert_int_eq(problem.error, error);
		snprintf(path, sizeof(path), "%zu", lowest);
		if (fails[lowest] == 1)
			ck_assert_str_eq(problem.path, path);
		else
			ck_assert_ptr_null(problem.path);
		if (!thread_counts[_i])
			ck_assert_uint_eq(failing.runs, lowest + 1);
		problem_clear(&problem);
	}
	/* The pool is none the worse for it. */
	memset(fails, 0, sizeof(fails));
	struct failing failing = { .fails = fails };

	ck_assert_int_eq(pool_run(pool, COUNT, fail_task, &failing, NULL), 0);
	ck_assert_uint_eq(failing.runs, COUNT);
	pool_destroy(pool);
}
END_TEST

static errcode_t problem_without_error(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	(void)context;
	(void)worker;
	if (index == 5)
		return EIO;
	(void)!problem_set(problem, ENOENT, "somewhere", "gone on after");
	return 0;
}

START_TEST(a_task_that_goes_on_leaves_no_problem)
{
	struct pool *pool = make_pool(thread_counts[_i]);
	struct problem problem = { 0 };

	ck_assert_int_eq(pool_run(pool, 10, problem_without_error, NULL, &problem), EIO);
	ck_assert_ptr_null(problem.path);
	problem_clear(&problem);
	pool_destroy(pool);
}
END_TEST

static pthread_t signalled;
static atomic_int signals;

static void note_signal(int number)
{
	(void)number;
	if (pthread_equal(pthread_self(), signalled))
		atomic_fetch_add(&signals, 1);
}

static errcode_t signal_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	(void)context;
	(void)worker;
	(void)index;
	(void)problem;
	if (!pthread_equal(pthread_self(), signalled)) {
		sigset_t blocked;

		pthread_sigmask(SIG_BLOCK, NULL, &blocked);
		if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGUSR1))
			return EINTR;
	}
	return kill(getpid(), SIGUSR1) ? EIO : 0;
}

START_TEST(signals_reach_the_main_thread)
{
	struct pool *pool = make_pool(thread_counts[_i]);

	signalled = pthread_self();
	signal(SIGUSR1, note_signal);
	for (int i = 0; i < 100; i++) {
		int before = signals;

		ck_assert_int_eq(pool_run(pool, 2, signal_task, NULL, NULL), 0);
		ck_assert_int_gt(signals, before);
	}
	pool_destroy(pool);
}
END_TEST

static errcode_t interrupting_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	atomic_int *runs = context;

	(void)worker;
	(void)index;
	(void)problem;
	atomic_fetch_add(runs, 1);
	kill(getpid(), SIGTERM);
	while (!interrupt_pending())
		;
	return 0;
}

START_TEST(no_task_begins_after_a_signal)
{
	struct pool *pool = make_pool(thread_counts[_i]);
	atomic_int runs = 0;

	interrupt_install();
	ck_assert_int_eq(pool_run(pool, 1000, interrupting_task, &runs, NULL), EINTR);
	ck_assert_int_le(runs, (int)pool_workers(pool));
	pool_destroy(pool);
}
END_TEST

struct elastic {
	struct pool *pool;
	bool sleeps, elsewhere;
	atomic_uint running, most;
};

static errcode_t elastic_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct elastic *elastic = context;
	struct timespec time = { 0, 4000000 };
	unsigned int now = atomic_fetch_add(&elastic->running, 1) + 1, most = atomic_load(&elastic->most);
	double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	(void)index;
	(void)problem;
	while (now > most && !atomic_compare_exchange_weak(&elastic->most, &most, now))
		;
	while (!elastic->sleeps && seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin < 0.004)
		;
	if (elastic->elsewhere)
		pool_pause(elastic->pool);
	if (elastic->sleeps)
		nanosleep(&time, NULL);
	if (elastic->elsewhere)
		pool_resume(elastic->pool);
	atomic_fetch_sub(&elastic->running, 1);
	return worker < pool_workers(elastic->pool) ? 0 : EINVAL;
}

/* What a pool of 2 to 16 workers has become. */
static unsigned int workers_after(bool sleeps, bool elsewhere, size_t tasks)
{
	struct elastic elastic = { .sleeps = sleeps, .elsewhere = elsewhere };
	struct problem problem = { 0 };

	ck_assert_int_eq(pool_create_elastic(2, 16, &elastic.pool), 0);
	ck_assert_uint_eq(pool_workers(elastic.pool), 16);
	ck_assert_uint_eq(pool_active(elastic.pool), 2);
	ck_assert_int_eq(pool_run(elastic.pool, tasks, elastic_task, &elastic, &problem), 0);
	ck_assert_uint_eq(atomic_load(&elastic.running), 0);
	pool_destroy(elastic.pool);
	return atomic_load(&elastic.most);
}

START_TEST(workers_are_added_while_they_wait)
{
	ck_assert_uint_gt(workers_after(true, false, 500), 4);
	/* The name of a thread may have anything, and programs give their names to their threads. */
	ck_assert_int_eq(prctl(PR_SET_NAME, "a) R (b) R"), 0);
	ck_assert_uint_gt(workers_after(true, false, 500), 4);
	/* What works, or waits for what does not depend on their number, is left alone. */
	ck_assert_uint_le(workers_after(false, false, 20), 2);
	ck_assert_uint_le(workers_after(true, true, 40), 2);
	/* Few are enough for few tasks. */
	ck_assert_uint_le(workers_after(true, false, 3), 3);
}
END_TEST

START_TEST(more_threads_than_the_most_stay)
{
	struct elastic elastic = { .sleeps = true };
	unsigned int threads = thread_counts[_i], most = threads > 64 ? threads : 64;

	ck_assert_int_eq(pool_create_elastic(threads, 64, &elastic.pool), 0);
	ck_assert_uint_eq(pool_workers(elastic.pool), most);
	ck_assert_uint_eq(pool_active(elastic.pool), threads);
	for (int job = 0; job < 2; job++)
		ck_assert_int_eq(pool_run(elastic.pool, 400, elastic_task, &elastic, NULL), 0);
	pool_destroy(elastic.pool);
	ck_assert_uint_le(atomic_load(&elastic.most), most);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tests = tcase_create("pool");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, time_is_counted, 0, THREAD_COUNTS);
	tcase_add_loop_test(tests, every_index_runs_once, 0, THREAD_COUNTS);
	tcase_add_loop_test(tests, jobs_follow_each_other, 0, THREAD_COUNTS);
	tcase_add_loop_test(tests, the_lowest_failure_is_the_one, 0, THREAD_COUNTS);
	tcase_add_loop_test(tests, a_task_that_goes_on_leaves_no_problem, 0, THREAD_COUNTS);
	tcase_add_loop_test(tests, signals_reach_the_main_thread, 0, THREAD_COUNTS);
	tcase_add_test(tests, workers_are_added_while_they_wait);
	tcase_add_loop_test(tests, more_threads_than_the_most_stay, 1, THREAD_COUNTS);
	tcase_add_loop_test(tests, no_task_begins_after_a_signal, 0, THREAD_COUNTS);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
