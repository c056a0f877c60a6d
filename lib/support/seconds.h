/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clocks in seconds, for differences. */
#pragma once

#include <time.h>

static inline double seconds_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Converts a time to struct timespec for functions that wait until then; not negative. */
static inline struct timespec seconds_timespec(double seconds)
{
	time_t whole = (time_t)seconds;

	return (struct timespec){ .tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9) };
}
