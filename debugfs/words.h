/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the words of a command. */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/* Returned by a command whose words are wrong. It may have recorded a problem that says more than the usage. */
#define WRONG_USAGE ((errcode_t)-1)

/* Records that the word is wrong, and returns WRONG_USAGE. */
errcode_t words_refuse(struct problem *problem, const char *word, const char *why);

/* Reads a number; WRONG_USAGE. */
MUST_CHECK errcode_t words_number(const char *word, uint64_t minimum, uint64_t maximum, uint64_t *number,
                                  struct problem *problem);

/* Reads a number of blocks that must be whole clusters. */
MUST_CHECK errcode_t words_length(const char *word, uint64_t cluster_blocks, uint64_t most, uint64_t *blocks,
                                  struct problem *problem);

struct group_range {
	uint32_t first;
	uint32_t end;
};

/* Reads "5", "5-9" or "5-"; without a word (NULL) the range is all groups. WRONG_USAGE. */
MUST_CHECK errcode_t words_range(const char *word, uint32_t groups, struct group_range *range, struct problem *problem);
