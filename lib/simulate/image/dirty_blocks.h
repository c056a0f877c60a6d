/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts how often each block of metadata is written: into the journal, if every commit writes all blocks that changed
 * since the last one, or to its place. Pure; one thread.
 */
#pragma once

#include "support/problem.h"

#include <stddef.h>
#include <stdint.h>

/* Blocks of one kind, numbered from 0. Zero-initialise, then open. */
struct dirty_blocks {
	struct dirty_block {
		uint32_t commit; /* the last commit that wrote it, or 1 + the last change; 0: none */
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

/* When blocks are written to their places: in the middle of every `commits`-th commit of `changes` changes. */
struct writeback {
	uint64_t changes, commits;
};

/*
 * Notes that the block changes, for writes to its place. Changes are numbered from 0 and ascend. A writeback writes the
 * blocks that earlier commits changed, but none that the running transaction has changed already: the journal keeps
 * those from it.
 */
void dirty_blocks_change(struct dirty_blocks *placed, const struct writeback *writeback, size_t block, uint32_t change);

/* After the last change: each block is written once more. */
void dirty_blocks_write_rest(struct dirty_blocks *placed);

/* Returns the largest number of writes of one block. */
uint32_t dirty_blocks_most(const struct dirty_blocks *dirty);
