/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/hidden_gaps.h"

errcode_t hidden_gaps_open(struct hidden_gaps *gaps, const struct plan *plan, struct problem *problem)
{
	const struct ondisk_format *format = &plan->format;

	*gaps = (struct hidden_gaps){ .plan = plan, .problem = problem, .descriptor = -1 };
	if (!plan->options->keeps_hidden || format->block_bytes != CONTENTS_BLOCK_BYTES || format->cluster_bits)
		return 0;
	return content_reader_create(plan->source->tree, &gaps->reader);
}

void hidden_gaps_close(struct hidden_gaps *gaps)
{
	content_reader_destroy(TAKE(gaps->reader));
}

static bool fills_blocks(const struct plan *plan, uint32_t node)
{
	const struct contents *contents = plan->source->tree->origins[plan_node(plan, node)->origin].contents;

	return contents && contents->fills_blocks;
}

errcode_t hidden_gaps_before(struct hidden_gaps *gaps, uint32_t node, uint32_t logical, uint32_t count,
                             uint64_t *blocks)
{
	const unsigned int block_bits = gaps->plan->format.block_bits;

	*blocks = 0;
	if (!gaps->reader || !fills_blocks(gaps->plan, node))
		return 0;
	errcode_t error = content_reader_open(gaps->reader, node, gaps->problem);

	if (error)
		return error;
	const struct content_range range = content_reader_map(gaps->reader, (uint64_t)logical << block_bits);

	if (range.descriptor >= 0 && range.descriptor == gaps->descriptor && range.place_bytes > gaps->end_bytes)
		*blocks = (range.place_bytes - gaps->end_bytes) >> block_bits;
	gaps->descriptor = range.descriptor;
	gaps->end_bytes = range.place_bytes + ((uint64_t)count << block_bits);
	return 0;
}

static errcode_t count_node(struct hidden_gaps *gaps, uint32_t node, uint64_t *blocks)
{
	struct block_runs runs;
	uint32_t logical, count;
	uint64_t before;

	plan_start_runs(gaps->plan, node, &runs);
	while (block_runs_next(&runs, &logical, &count)) {
		errcode_t error = 0;

		if (runs.is_unwritten)
			continue;
		error = hidden_gaps_before(gaps, node, logical, count, &before);
		if (error)
			return error;
		*blocks += before;
	}
	return 0;
}

errcode_t hidden_gaps_count(const struct plan *plan, uint64_t *blocks, struct problem *problem)
{
	struct hidden_gaps gaps;
	errcode_t error = hidden_gaps_open(&gaps, plan, problem);

	*blocks = 0;
	for (uint32_t index = 0; !error && gaps.reader && index < plan->content_count; index++)
		if (plan->placements[plan->content_order[index]].blocks)
			error = count_node(&gaps, plan->content_order[index], blocks);
	hidden_gaps_close(&gaps);
	return error;
}
