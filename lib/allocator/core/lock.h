/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lock of four bytes with try and wait, for critical sections well below a microsecond. A running thread gets it
 * before a thread that must be woken, which makes it fast when threads outnumber processors. A thread that has been
 * passed over LOCK_PATIENCE times becomes impatient, and then all others let it go first.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise. */
struct lock {
	_Atomic uint32_t word;
};

#define LOCK_HELD 1u      /* a thread holds the lock */
#define LOCK_SLEEPERS 2u  /* a thread may be asleep */
#define LOCK_IMPATIENT 4u /* the unit that counts impatient threads, which go first */
#define LOCK_PATIENCE 3   /* failed wake-ups before a thread becomes impatient */

/* Never waits. */
static inline bool lock_try(struct lock *lock)
{
	uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);

	return !(word & LOCK_HELD) && word < LOCK_IMPATIENT &&
	       atomic_compare_exchange_strong_explicit(&lock->word, &word, word | LOCK_HELD, memory_order_acquire,
	                                               memory_order_relaxed);
}

/* A hint only: it may be out of date at once. */
static inline bool lock_looks_held(const struct lock *lock)
{
	return atomic_load_explicit(&lock->word, memory_order_relaxed) & LOCK_HELD;
}

void lock_wait_slowly(struct lock *lock);

/* How often this thread had to wait for a lock. */
uint64_t lock_waits_of_thread(void);

static inline void lock_wait(struct lock *lock)
{
	if (!lock_try(lock))
		lock_wait_slowly(lock);
}

void lock_wake(struct lock *lock, uint32_t word);

static inline void lock_release(struct lock *lock)
{
	uint32_t word = atomic_fetch_and_explicit(&lock->word, ~(LOCK_HELD | LOCK_SLEEPERS), memory_order_release);

	if (word & LOCK_SLEEPERS)
		lock_wake(lock, word);
}
