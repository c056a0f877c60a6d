/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of blocks: ascending runs that do not touch. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/vector.h"

struct block_run {
	uint64_t start;
	uint64_t count;
};

/* All zeros: empty. */
struct block_ranges {
	struct block_run *runs; /* owned */
	size_t count, capacity;
};

/* ENOMEM; then nothing has changed. */
MUST_CHECK errcode_t block_ranges_add(struct block_ranges *ranges, uint64_t start, uint64_t count);
MUST_CHECK errcode_t block_ranges_remove(struct block_ranges *ranges, uint64_t start, uint64_t count);

bool block_ranges_has(const struct block_ranges *ranges, uint64_t block);

/* Returns whether any of these blocks is in the set. */
bool block_ranges_overlap(const struct block_ranges *ranges, uint64_t start, uint64_t count);

/* The index of the first run that ends after block; ranges->count: none does. */
size_t block_ranges_at(const struct block_ranges *ranges, uint64_t block);

/* Makes it empty. */
void block_ranges_clear(struct block_ranges *ranges);
