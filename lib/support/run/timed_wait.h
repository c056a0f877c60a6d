/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting for another thread, and looking now and then whether a signal has come, which wakes nobody. */
#pragma once

#include <pthread.h>
#include <time.h>

/* So long can a waiting thread keep us from seeing a signal. */
#define TIMED_WAIT_NANOSECONDS 100000000

/* pthread_cond_wait() that returns after that time in any case. The caller asks anew for what it waits for. */
static inline void timed_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TIMED_WAIT_NANOSECONDS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(changed, lock, &until);
}
