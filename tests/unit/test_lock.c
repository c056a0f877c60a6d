/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "allocator/core/lock.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "unit.h"

#define THREADS 16
#define TURNS 20000

struct shared {
	struct lock lock;
	uint64_t counter; /* changed under the lock only, and not atomically */
	_Atomic int is_over;
};

static void *count(void *argument)
{
	struct shared *shared = argument;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		if (turn % 3 || !lock_try(&shared->lock))
			lock_wait(&shared->lock);
		shared->counter++;
		lock_release(&shared->lock);
	}
	return NULL;
}

START_TEST(test_exclusion)
{
	struct shared shared = { 0 };
	pthread_t threads[THREADS];

	for (unsigned int index = 0; index < THREADS; index++)
		ck_assert_int_eq(pthread_create(&threads[index], NULL, count, &shared), 0);
	for (unsigned int index = 0; index < THREADS; index++)
		pthread_join(threads[index], NULL);
	ck_assert_uint_eq(shared.counter, THREADS * TURNS);
	ck_assert(!lock_looks_held(&shared.lock));
	/* No thread is left impatient: otherwise no thread could try. */
	ck_assert(lock_try(&shared.lock));
	ck_assert(!lock_try(&shared.lock));
	lock_release(&shared.lock);
}
END_TEST

static void *hog(void *argument)
{
	struct shared *shared = argument;

	while (!atomic_load(&shared->is_over)) {
		lock_wait(&shared->lock);
		shared->counter++;
		for (volatile unsigned int work = 0; work < 2000; work++)
			;
		lock_release(&shared->lock);
	}
	return NULL;
}

/* Four threads that never let go for longer than it takes to come again cannot keep a fifth out. */
START_TEST(test_fairness)
{
	struct shared shared = { 0 };
	struct timespec begin, end;
	pthread_t hogs[4];
	uint64_t worst_us = 0;

	for (unsigned int index = 0; index < 4; index++)
		ck_assert_int_eq(pthread_create(&hogs[index], NULL, hog, &shared), 0);
	for (unsigned int turn = 0; turn < 100; turn++) {
		clock_gettime(CLOCK_MONOTONIC, &begin);
		lock_wait(&shared.lock);
		clock_gettime(CLOCK_MONOTONIC, &end);
		lock_release(&shared.lock);
		uint64_t waited_us =
			(uint64_t)((end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000);
		worst_us = waited_us > worst_us ? waited_us : worst_us;
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	}
	atomic_store(&shared.is_over, 1);
	for (unsigned int index = 0; index < 4; index++)
		pthread_join(hogs[index], NULL);
	printf("# worst wait %llu us among %llu turns of others\n", (unsigned long long)worst_us,
	       (unsigned long long)shared.counter);
}
END_TEST

static void *wait_once(void *argument)
{
	struct lock *lock = argument;

	lock_wait(lock);
	lock_release(lock);
	return NULL;
}

/* A thread that is woken repeatedly and finds the lock held becomes impatient, and gets it next: no other can try
 * meanwhile. */
START_TEST(test_passed_over)
{
	struct lock lock = { 0 };
	unsigned int looks = 0;
	pthread_t thread;

	lock_wait(&lock);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_once, &lock), 0);
	while (atomic_load(&lock.word) < LOCK_IMPATIENT && looks++ < 5000) {
		lock_wake(&lock, LOCK_SLEEPERS);
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	uint32_t word = atomic_load(&lock.word);
	ck_assert_uint_ge(word, LOCK_IMPATIENT);
	lock_release(&lock);
	pthread_join(thread, NULL);
	ck_assert(lock_try(&lock));
}
END_TEST

/* While somebody is impatient, those who only try stand back. */
START_TEST(test_impatience)
{
	struct lock lock = { LOCK_IMPATIENT };

	ck_assert(!lock_try(&lock));
	atomic_store(&lock.word, 0);
	ck_assert(lock_try(&lock));
}
END_TEST

static Suite *lock_suite(void)
{
	Suite *suite = suite_create("lock");
	TCase *lock = tcase_create("lock");

	tcase_set_timeout(lock, 60);
	tcase_add_test(lock, test_exclusion);
	tcase_add_test(lock, test_fairness);
	tcase_add_test(lock, test_passed_over);
	tcase_add_test(lock, test_impatience);
	suite_add_tcase(suite, lock);
	return suite;
}

int main(void)
{
	return run_suite(lock_suite());
}
