/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts how often each block of metadata is written if every commit writes all blocks that changed since the last
 * one. Pure; one thread.
 */
#pragma once

#include "support/problem.h"

#include <stddef.h>
#include <stdint.h>

/* Blocks of one kind, numbered from 0. Zero-initialise, then open. */
struct dirty_blocks {
	struct dirty_block {
		uint32_t commit; /* the last commit that wrote it, 0: none */
		uint32_t writes;
	} * blocks; /* owned */
	size_t count;
	uint64_t writes;
	uint64_t distinct; /* blocks that were written at least once */
};

/* ENOMEM. */
MUST_CHECK errcode_t dirty_blocks_open(struct dirty_blocks *dirty, size_t count);
void dirty_blocks_close(struct dirty_blocks *dirty);

/* Notes that the block changes before this commit. Commits are numbered from 1 and ascend. */
void dirty_blocks_mark(struct dirty_blocks *dirty, size_t block, uint32_t commit);

/* Returns the largest number of writes of one block. */
uint32_t dirty_blocks_most(const struct dirty_blocks *dirty);
