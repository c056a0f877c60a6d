// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/results/partial_stripes.h"

static uint64_t partial_of(uint64_t start, uint64_t end, uint32_t stripe_blocks)
{
	bool begins_within = start % stripe_blocks, ends_within = end % stripe_blocks;

	if (start / stripe_blocks == (end - 1) / stripe_blocks)
		return begins_within || ends_within;
	return (uint64_t)begins_within + ends_within;
}

static uint64_t partial_of_file(const struct simulated_file *file, uint32_t stripe_blocks)
{
	uint64_t sum = 0, start = 0, end = 0;

	for (size_t index = 0; index < file->extent_count; index++) {
		const struct file_extent *extent = &file->extents[index];

		if (extent->physical != end) {
			sum += end ? partial_of(start, end, stripe_blocks) : 0;
			start = extent->physical;
		}
		end = extent->physical + (extent->count & ~FILE_EXTENT_UNWRITTEN);
	}
	return sum + (end ? partial_of(start, end, stripe_blocks) : 0);
}

uint64_t partial_stripes(const struct file_set *set, uint32_t stripe_blocks)
{
	uint64_t sum = 0;

	for (size_t index = 0; index < set->count; index++)
		sum += partial_of_file(&set->files[index], stripe_blocks);
	for (const struct file_set *child = set->first; child; child = child->next)
		sum += partial_stripes(child, stripe_blocks);
	return sum;
}
