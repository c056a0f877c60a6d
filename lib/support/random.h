/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Seeded random numbers that are the same everywhere (splitmix64). Pure. */
#pragma once

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* Returns a number in [0, limit), limit below 2^32, by a multiplication, which takes a fourth of a division's time. */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}
