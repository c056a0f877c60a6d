/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The score of e4defrag -c, from which all verdicts come. Pure. */
#pragma once

#include <stdint.h>

/* The least number of extents of a file with this many blocks; span_blocks is score_span()'s. 0 blocks: 0. */
uint64_t score_ideal(uint64_t blocks, uint64_t span_blocks);

/* The blocks of a group or, with flex_bg (log_groups_per_flex > 0), of a flex group. */
uint64_t score_span(uint32_t blocks_per_group, unsigned int log_groups_per_flex);

/* Surplus extents per 100 blocks. */
double score_ratio(uint64_t extents, uint64_t ideal_extents, uint64_t blocks);

/*
 * From 0 (ideal) to 100 (every block alone). With ratio R, the score is 8R up to R = 10, and 80 + R / 5 above. It is
 * shown without decimals, as e4defrag does.
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
