/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/histogram.h"

#include <assert.h>

#define EXACT_BITS 7
#define EXACT_VALUES (1u << EXACT_BITS)
#define PART_BITS 6 /* a power of two is cut into 64 */
#define PARTS (1u << PART_BITS)

static unsigned int bucket_of(uint64_t value)
{
	if (value < EXACT_VALUES)
		return (unsigned int)value;

	unsigned int power = 63 - (unsigned int)__builtin_clzll(value);
	unsigned int part = (value >> (power - PART_BITS)) & (PARTS - 1);

	return EXACT_VALUES + (power - EXACT_BITS) * PARTS + part;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	unsigned int bucket = bucket_of(value);

	histogram->counts[bucket]++;
	histogram->sums[bucket] += value;
	if (!histogram->count || value < histogram->minimum)
		histogram->minimum = value;
	if (value > histogram->maximum)
		histogram->maximum = value;
	histogram->count++;
	histogram->sum += value;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	if (!from->count)
		return;
	for (unsigned int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		to->counts[bucket] += from->counts[bucket];
		to->sums[bucket] += from->sums[bucket];
	}
	if (!to->count || from->minimum < to->minimum)
		to->minimum = from->minimum;
	if (from->maximum > to->maximum)
		to->maximum = from->maximum;
	to->count += from->count;
	to->sum += from->sum;
}

double histogram_mean(const struct histogram *histogram)
{
	return histogram->count ? (double)histogram->sum / (double)histogram->count : 0;
}

/* The mean of the first bucket with which `weights` add up to percent of total. */
static uint64_t value_at(const struct histogram *histogram, const uint64_t *weights, uint64_t total, double percent)
{
	double wanted = (double)total * percent / 100;
	uint64_t reached = 0;

	if (!histogram->count)
		return 0;
	for (unsigned int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		reached += weights[bucket];
		if (histogram->counts[bucket] && (double)reached >= wanted)
			return histogram->sums[bucket] / histogram->counts[bucket];
	}
	return histogram->maximum;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	return value_at(histogram, histogram->counts, histogram->count, percent);
}

uint64_t histogram_weighted_percentile(const struct histogram *histogram, double percent)
{
	return value_at(histogram, histogram->sums, histogram->sum, percent);
}

void histogram_power(const struct histogram *histogram, unsigned int power, uint64_t *count, uint64_t *sum)
{
	assert(power < HISTOGRAM_POWERS);

	unsigned int first = power ? bucket_of(UINT64_C(1) << power) : 0;
	unsigned int end = power + 1 < HISTOGRAM_POWERS ? bucket_of(UINT64_C(1) << (power + 1)) : HISTOGRAM_BUCKETS;

	*count = *sum = 0;
	for (unsigned int bucket = first; bucket < end; bucket++) {
		*count += histogram->counts[bucket];
		*sum += histogram->sums[bucket];
	}
}
