/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's s_lock_busy: grows with each group lock that is contended, and shrinks with each other one. Pure. */
#pragma once

#include <stdbool.h>

/* The kernel's EXT4_MAX_CONTENTION and EXT4_CONTENTION_THRESHOLD. */
#define MOST_CONTENTION 8u
#define LITTLE_CONTENTION 2u

static inline void lock_pressure_count(unsigned int *pressure, bool waits)
{
	if (!waits)
		*pressure -= *pressure > 0;
	else if (*pressure < MOST_CONTENTION)
		++*pressure;
}

static inline bool lock_pressure_is_high(unsigned int pressure)
{
	return pressure > LITTLE_CONTENTION;
}
