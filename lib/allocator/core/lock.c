/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/core/lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 64 /* about a microsecond: a few critical sections */

static void processor_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void lock_wake(struct lock *lock, uint32_t word)
{
	/*
	 * One woken thread is enough, unless it might be a patient one, which steps back for an impatient thread that
	 * still sleeps.
	 */
	int count = word >= LOCK_IMPATIENT ? INT_MAX : 1;

	syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/*
 * Takes the lock if it is free. A thread that has slept cannot know whether others still sleep, so it takes the lock
 * with LOCK_SLEEPERS set, and its release may wake no thread.
 */
static bool acquire(struct lock *lock, uint32_t word, uint32_t sleepers, uint32_t impatient)
{
	if (word & LOCK_HELD || (word >= LOCK_IMPATIENT && !impatient))
		return false;
	return atomic_compare_exchange_strong_explicit(&lock->word, &word, ((word | LOCK_HELD) - impatient) | sleepers,
	                                               memory_order_acquire, memory_order_relaxed);
}

/* A thread-local number instead of the worker's: locks know no workers, and a thread that comes here waits anyway. */
static _Thread_local uint64_t waits;

uint64_t lock_waits_of_thread(void)
{
	return waits;
}

void lock_wait_slowly(struct lock *lock)
{
	waits++;
	for (unsigned int spin = 0; spin < SPINS; spin++) {
		processor_pause();
		if (lock_try(lock))
			return;
	}

	uint32_t impatient = 0;
	for (unsigned int wakeups = 0;; wakeups++) {
		if (wakeups == LOCK_PATIENCE) {
			impatient = LOCK_IMPATIENT;
			atomic_fetch_add_explicit(&lock->word, LOCK_IMPATIENT, memory_order_relaxed);
		}

		uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
		bool must_sleep = word & LOCK_HELD || (word >= LOCK_IMPATIENT && !impatient);
		if (!must_sleep) {
			if (acquire(lock, word, wakeups ? LOCK_SLEEPERS : 0, impatient))
				return;
			continue;
		}
		if (!(word & LOCK_SLEEPERS) &&
		    !atomic_compare_exchange_strong_explicit(&lock->word, &word, word | LOCK_SLEEPERS,
		                                             memory_order_relaxed, memory_order_relaxed))
			continue;
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, word | LOCK_SLEEPERS, NULL, NULL, 0);
	}
}
