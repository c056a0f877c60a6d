/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks that a transaction has changed; they stay in memory until it commits. */
#pragma once

#include <stdint.h>

#include "support/problem.h"

struct held_block {
	uint64_t block; /* must be the first: it is the key */
	uint8_t data[];
};

/* All zeros but block_bytes: empty. One thread changes it; any number may look blocks up. */
struct held_blocks {
	uint32_t block_bytes;
	void *tree; /* of tsearch(3) */
	size_t count;
};

/* Returns NULL for a block that is not held. */
struct held_block *held_blocks_find(const struct held_blocks *held, uint64_t block);

/* Adds a block that is not held yet; the caller fills its data. ENOMEM. */
MUST_CHECK errcode_t held_blocks_add(struct held_blocks *held, uint64_t block, struct held_block **ret);

/* Lists all by ascending block number. The caller frees the list, not the blocks. ENOMEM. */
MUST_CHECK errcode_t held_blocks_list(const struct held_blocks *held, struct held_block ***list);

/* Drops one, or all. */
void held_blocks_drop(struct held_blocks *held, struct held_block *block);
void held_blocks_clear(struct held_blocks *held);
