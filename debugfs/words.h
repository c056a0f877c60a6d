/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a command as they are read. */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/* What a command returns where its words are wrong; it may have recorded a problem that says more than its usage. */
#define WRONG_USAGE ((errcode_t)-1)

/* Records that the word is wrong, and returns WRONG_USAGE. */
errcode_t words_refuse(struct problem *problem, const char *word, const char *why);

/* Reads a number; WRONG_USAGE. */
MUST_CHECK errcode_t words_number(const char *word, uint64_t minimum, uint64_t maximum, uint64_t *number,
                                  struct problem *problem);

/* A number of blocks that is whole clusters. */
MUST_CHECK errcode_t words_length(const char *word, uint64_t cluster_blocks, uint64_t most, uint64_t *blocks,
                                  struct problem *problem);

struct group_range {
	uint32_t first;
	uint32_t end;
};

/* Reads "5", "5-9" or "5-", or takes all of so many groups where there is no word (NULL); WRONG_USAGE. */
MUST_CHECK errcode_t words_range(const char *word, uint32_t groups, struct group_range *range, struct problem *problem);
