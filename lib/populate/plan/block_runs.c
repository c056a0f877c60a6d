/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/block_runs.h"

#include <sys/stat.h>

#include "populate/build/protection.h"

static uint64_t round_up_shift(uint64_t bytes, unsigned int bits)
{
	return (bytes >> bits) + !!(bytes & ((1ull << bits) - 1));
}

void block_runs_start(struct block_runs *runs, const struct ondisk_format *format, const struct tree_node *node)
{
	*runs = (struct block_runs){
		.format = format,
		.node = node,
		.file_blocks = round_up_shift(node->size_bytes, format->block_bits),
	};
}

void block_runs_start_counted(struct block_runs *runs, const struct plan *plan, uint32_t number)
{
	const struct tree_node *node = plan_node(plan, number);

	block_runs_start(runs, &plan->format, node);
	if (!S_ISREG(node->mode))
		runs->file_blocks = plan->placements[number].blocks;
	if (!plan->placements[number].is_protected)
		return;
	const struct verity_place place = protection_place(plan, number);

	runs->added_start = place.first_block >> plan->format.cluster_bits << plan->format.cluster_bits;
	runs->added_end = place.first_block + place.blocks;
}

/* Computes a segment's blocks [*start, *end), rounded out to clusters and cut at the end of the file. */
static void segment_blocks(const struct block_runs *runs, const struct tree_segment *segment, uint64_t *start,
                           uint64_t *end)
{
	unsigned int cluster_bits = runs->format->cluster_bits;
	unsigned int bits = runs->format->block_bits + cluster_bits;

	*start = segment->start_bytes >> bits << cluster_bits;
	*end = round_up_shift(segment->start_bytes + segment->length_bytes, bits) << cluster_bits;
	if (*end > runs->file_blocks)
		*end = runs->file_blocks;
}

/* Finds the next run of data. */
static bool next_data(struct block_runs *runs, uint32_t *logical, uint32_t *blocks)
{
	const struct tree_data_map *map = runs->node->data_map;
	uint64_t start, end, next_start, next_end;

	if (!runs->node->is_sparse) {
		if (runs->next_segment++ || !runs->file_blocks)
			return false;
		*logical = 0;
		*blocks = (uint32_t)runs->file_blocks;
		return true;
	}
	if (runs->next_segment >= map->count)
		return false;
	segment_blocks(runs, &map->segments[runs->next_segment++], &start, &end);
	while (runs->next_segment < map->count) {
		segment_blocks(runs, &map->segments[runs->next_segment], &next_start, &next_end);
		if (next_start > end)
			break;
		end = next_end;
		runs->next_segment++;
	}
	*logical = (uint32_t)start;
	*blocks = (uint32_t)(end - start);
	return true;
}

bool block_runs_next(struct block_runs *runs, uint32_t *logical, uint32_t *blocks)
{
	bool is_data = next_data(runs, logical, blocks), has_added = runs->added_end > runs->added_start;

	if (!has_added || (is_data && (uint64_t)*logical + *blocks < runs->added_start))
		return is_data;
	/* The data reach into the first cluster of the added blocks, or up to it: then both are one run. */
	if (!is_data)
		*logical = (uint32_t)runs->added_start;
	*blocks = (uint32_t)(runs->added_end - *logical);
	runs->added_end = runs->added_start;
	return true;
}
