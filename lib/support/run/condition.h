/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One rule for condition variables, which are used only through this header (tests/house/sources). Each is
 * initialised by PTHREAD_COND_INITIALIZER.
 *
 * A wake-up wakes all waiting threads, and each checks its condition again: before glibc 2.41 a pthread_cond_signal()
 * can be lost (bug 25847). Times are of CLOCK_MONOTONIC, since the realtime clock may be set.
 */
#pragma once

#include <pthread.h>

#include "support/seconds.h"

/* The longest time until a waiting thread notices a signal, which wakes no thread. */
#define CONDITION_LOOK_SECONDS 0.1

/* The caller holds the lock under which it has changed the condition. */
static inline void condition_wake(pthread_cond_t *changed)
{
	pthread_cond_broadcast(changed);
}

static inline void condition_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
	pthread_cond_wait(changed, lock);
}

static inline void condition_wait_until(pthread_cond_t *changed, pthread_mutex_t *lock, double seconds)
{
	const struct timespec until = seconds_timespec(seconds);

	pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, &until);
}

/* For waits that a signal ends: the caller checks interrupt_pending() whenever this returns. */
static inline void condition_wait_or_look(pthread_cond_t *changed, pthread_mutex_t *lock)
{
	condition_wait_until(changed, lock, seconds_of(CLOCK_MONOTONIC) + CONDITION_LOOK_SECONDS);
}
