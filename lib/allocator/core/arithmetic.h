/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

static inline uint64_t min_u64(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

static inline uint64_t max_u64(uint64_t first, uint64_t second)
{
	return first > second ? first : second;
}

/* Most units are powers of two, which need no division: every request rounds five times. */
static inline uint64_t round_down(uint64_t value, uint64_t unit)
{
	return unit & (unit - 1) ? value - value % unit : value & ~(unit - 1);
}

static inline uint64_t round_up(uint64_t value, uint64_t unit)
{
	return round_down(value + unit - 1, unit);
}

/* The least power of two that is not below value; value is 1 to 2^62. */
static inline uint64_t power_above(uint64_t value)
{
	return value == 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(value - 1));
}

/* The largest power of two that is not above value; value is not 0. */
static inline uint64_t power_below(uint64_t value)
{
	return UINT64_C(1) << (63 - __builtin_clzll(value));
}
