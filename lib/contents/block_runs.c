/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contents/block_runs.h"

#include "ondisk/file_map.h"
#include "tree/details.h"

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

void block_runs_protect(struct block_runs *runs, const struct verity_place *place)
{
	const unsigned int cluster_bits = runs->format->cluster_bits;

	runs->added_start = place->first_block >> cluster_bits << cluster_bits;
	runs->added_end = place->first_block + place->blocks;
}

const struct tree_unwritten *block_runs_unwritten(const struct ondisk_format *format, const struct tree *tree,
                                                  uint32_t node)
{
	if (!format->extents || 1u << format->cluster_bits > FILE_EXTENT_MAX_UNWRITTEN_BLOCKS)
		return NULL;
	return tree_detail(tree, &tree->nodes[node])->unwritten;
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

/* Finds the next run of data and of what protects the file. */
static bool next_written(struct block_runs *runs, uint32_t *logical, uint32_t *blocks)
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

/* No file of ext4 has more blocks. */
#define MOST_BLOCKS (UINT64_C(0xffffffff))

/* Finds the next unwritten blocks after those that were given, rounded out to clusters: [*start, *end). */
static bool next_unwritten(struct block_runs *runs, uint64_t *start, uint64_t *end)
{
	const unsigned int cluster_bits = runs->format->cluster_bits;
	const unsigned int bits = runs->format->block_bits + cluster_bits;
	const uint64_t given_end = round_up_shift(runs->given_end, cluster_bits) << cluster_bits;
	const uint64_t most = MOST_BLOCKS >> cluster_bits << cluster_bits;

	for (; runs->unwritten && runs->next_unwritten < runs->unwritten->count; runs->next_unwritten++) {
		const struct tree_segment *segment = &runs->unwritten->segments[runs->next_unwritten];

		*start = segment->start_bytes >> bits << cluster_bits;
		*end = round_up_shift(segment->start_bytes + segment->length_bytes, bits) << cluster_bits;
		*start = *start > given_end ? *start : given_end;
		*end = *end < most ? *end : most;
		if (*start < *end)
			return true;
	}
	return false;
}

/* An unwritten extent ends where data begin. */
bool block_runs_next(struct block_runs *runs, uint32_t *logical, uint32_t *blocks)
{
	uint64_t start, end;

	if (!runs->has_data)
		runs->has_data = next_written(runs, &runs->data_start, &runs->data_blocks);
	runs->is_unwritten = next_unwritten(runs, &start, &end) && (!runs->has_data || start < runs->data_start);
	if (runs->is_unwritten) {
		end = runs->has_data && end > runs->data_start ? runs->data_start : end;
	} else if (runs->has_data) {
		start = runs->data_start;
		end = start + runs->data_blocks;
		runs->has_data = false;
	} else {
		return false;
	}
	*logical = (uint32_t)start;
	*blocks = (uint32_t)(end - start);
	runs->given_end = end;
	return true;
}
