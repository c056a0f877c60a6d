/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers for tests: the seed is printed, TEST_SEED=n repeats a run. Without it the seed is always the same,
 * so that a change never fails because of what was wrong before it; make soak goes looking with new ones.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct random {
	uint64_t state;
};

/* Printed as a TAP comment. */
static inline struct random random_start(const char *test)
{
	const char *text = getenv("TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;

	printf("# %s: TEST_SEED=%llu\n", test, (unsigned long long)seed);
	fflush(stdout);
	return (struct random){ seed };
}

/* splitmix64 */
static inline uint64_t random_next(struct random *random)
{
	uint64_t value = random->state += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* In [0, limit). */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return random_next(random) % limit;
}
