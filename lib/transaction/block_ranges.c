/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/block_ranges.h"

#include <string.h>

#include "support/bisect.h"

static uint64_t end_of(const struct block_run *run)
{
	return run->start + run->count;
}

size_t block_ranges_at(const struct block_ranges *ranges, uint64_t block)
{
	return BISECT(ranges->count, index, end_of(&ranges->runs[index]) > block);
}

bool block_ranges_has(const struct block_ranges *ranges, uint64_t block)
{
	size_t index = block_ranges_at(ranges, block);

	return index < ranges->count && ranges->runs[index].start <= block;
}

bool block_ranges_overlap(const struct block_ranges *ranges, uint64_t start, uint64_t count)
{
	size_t index = block_ranges_at(ranges, start);

	return index < ranges->count && ranges->runs[index].start < start + count;
}

/* Replaces the runs [index, end) by the new runs, at most two. */
static void replace(struct block_ranges *ranges, size_t index, size_t end, const struct block_run *runs, size_t count)
{
	memmove(ranges->runs + index + count, ranges->runs + end, (ranges->count - end) * sizeof(*ranges->runs));
	memcpy(ranges->runs + index, runs, count * sizeof(*runs));
	ranges->count -= end - index;
	ranges->count += count;
}

errcode_t block_ranges_add(struct block_ranges *ranges, uint64_t start, uint64_t count)
{
	errcode_t error = vector_reserve(&ranges->runs, &ranges->capacity, ranges->count + 1, sizeof(*ranges->runs));

	if (error || !count)
		return error;
	/* Runs that it touches are joined with it. */
	size_t index = start ? block_ranges_at(ranges, start - 1) : 0;
	size_t end = index;
	struct block_run run = { start, count };

	for (; end < ranges->count && ranges->runs[end].start <= start + count; end++) {
		uint64_t last = end_of(&ranges->runs[end]) > end_of(&run) ? end_of(&ranges->runs[end]) : end_of(&run);

		if (ranges->runs[end].start < run.start)
			run.start = ranges->runs[end].start;
		run.count = last - run.start;
	}
	replace(ranges, index, end, &run, 1);
	return 0;
}

errcode_t block_ranges_remove(struct block_ranges *ranges, uint64_t start, uint64_t count)
{
	size_t index = block_ranges_at(ranges, start);
	size_t end = index, left = 0;
	struct block_run runs[2];

	if (!count || index == ranges->count || ranges->runs[index].start >= start + count)
		return 0;
	errcode_t error = vector_reserve(&ranges->runs, &ranges->capacity, ranges->count + 1, sizeof(*ranges->runs));

	if (error)
		return error;
	while (end < ranges->count && ranges->runs[end].start < start + count)
		end++;
	if (ranges->runs[index].start < start)
		runs[left++] = (struct block_run){ ranges->runs[index].start, start - ranges->runs[index].start };
	if (end_of(&ranges->runs[end - 1]) > start + count)
		runs[left++] = (struct block_run){ start + count, end_of(&ranges->runs[end - 1]) - (start + count) };
	replace(ranges, index, end, runs, left);
	return 0;
}

void block_ranges_clear(struct block_ranges *ranges)
{
	free(ranges->runs);
	*ranges = (struct block_ranges){ 0 };
}
