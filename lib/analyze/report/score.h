/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The score of e4defrag -c, from which all verdicts come. Pure. */
#pragma once

#include <stdint.h>

/* In how many extents a file of this many blocks can lie at best; span_blocks as score_span() says. 0 blocks: 0. */
uint64_t score_ideal(uint64_t blocks, uint64_t span_blocks);

/* A group's blocks, with flex_bg (log_groups_per_flex > 0) those of all its groups together. */
uint64_t score_span(uint32_t blocks_per_group, unsigned int log_groups_per_flex);

/* How many extents too many there are for 100 blocks. */
double score_ratio(uint64_t extents, uint64_t ideal_extents, uint64_t blocks);

/*
 * 0 (nothing could be better) to 100 (every block alone). R being the ratio, up
 * to 10 the score is 8R, above it 80 + R / 5. Shown without decimals, as e4defrag does.
 */
double score_of(uint64_t extents, uint64_t ideal_extents, uint64_t blocks);

enum score_band {
	SCORE_FINE,       /* up to 30 */
	SCORE_LITTLE,     /* 31 to 55 */
	SCORE_DEFRAGMENT, /* 56 and more */
};

enum score_band score_band(double score);

/* "fine", "a little fragmented", "defragment" */
const char *score_band_words(enum score_band band);
