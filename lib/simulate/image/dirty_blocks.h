/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks of metadata are written how often, if all that changed since the last one goes out with each commit.
 * Pure; one thread.
 */
#pragma once

#include "support/problem.h"

#include <stddef.h>
#include <stdint.h>

/* Blocks of one kind, numbered from 0. Zero-initialise, then open. */
struct dirty_blocks {
	struct dirty_block {
		uint32_t commit; /* that wrote it last, 0: none did */
		uint32_t writes;
	} * blocks; /* owned */
	size_t count;
	uint64_t writes;
	uint64_t distinct; /* blocks that were written at least once */
};

/* ENOMEM. */
MUST_CHECK errcode_t dirty_blocks_open(struct dirty_blocks *dirty, size_t count);
void dirty_blocks_close(struct dirty_blocks *dirty);

/* The block changes before this commit, numbered from 1, ascending. */
void dirty_blocks_mark(struct dirty_blocks *dirty, size_t block, uint32_t commit);

/* How often the block was written that was written most often. */
uint32_t dirty_blocks_most(const struct dirty_blocks *dirty);
