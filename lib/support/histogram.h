/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The distribution of any number of values in constant memory: values below 128 have a bucket each, larger ones share
 * one with values that differ by less than a 64th. Sums are exact, and so are percentiles if all values of their
 * bucket are equal; otherwise they are the bucket's mean, less than 1.6 % off.
 *
 * One thread at a time; each worker has its own, and they are added up in any order with the same result.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_POWERS 64
#define HISTOGRAM_BUCKETS (128 + (HISTOGRAM_POWERS - 7) * 64)

/* Zero-initialise. 59 KiB. */
struct histogram {
	uint64_t count;            /* of values */
	uint64_t sum;              /* of values */
	uint64_t minimum, maximum; /* 0 if there are none */
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t sums[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *to, const struct histogram *from);

/* The mean of all values; 0 if there are none. */
double histogram_mean(const struct histogram *histogram);

/* The smallest value that at least `percent` percent of the values do not exceed; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);

/*
 * The same with every value weighted by itself. Half of the free space lies in extents that are not larger than the
 * weighted median of their sizes.
 */
uint64_t histogram_weighted_percentile(const struct histogram *histogram, double percent);

/* The number of values in [2^power, 2^(power + 1)), and their sum; 0 belongs to power 0. power is below 64. */
void histogram_power(const struct histogram *histogram, unsigned int power, uint64_t *count, uint64_t *sum);
