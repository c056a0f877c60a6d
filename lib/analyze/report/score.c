/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/score.h"

uint64_t score_span(uint32_t blocks_per_group, unsigned int log_groups_per_flex)
{
	return (uint64_t)blocks_per_group << (log_groups_per_flex < 32 ? log_groups_per_flex : 0);
}

uint64_t score_ideal(uint64_t blocks, uint64_t span_blocks)
{
	return blocks ? (blocks - 1) / span_blocks + 1 : 0;
}

double score_ratio(uint64_t extents, uint64_t ideal_extents, uint64_t blocks)
{
	if (!blocks || extents <= ideal_extents)
		return 0;
	return (double)(extents - ideal_extents) * 100 / (double)blocks;
}

double score_of(uint64_t extents, uint64_t ideal_extents, uint64_t blocks)
{
	double ratio = score_ratio(extents, ideal_extents, blocks);

	return ratio <= 10 ? 8 * ratio : 80 + ratio / 5;
}

/* The bands are those of the rounded score: 30.4 is shown as 30. */
enum score_band score_band(double score)
{
	return score < 30.5 ? SCORE_FINE : score < 55.5 ? SCORE_LITTLE : SCORE_DEFRAGMENT;
}

const char *score_band_words(enum score_band band)
{
	static const char *const words[] = { "fine", "a little fragmented", "defragment" };

	return words[band];
}
