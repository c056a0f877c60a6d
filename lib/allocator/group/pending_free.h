/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One group's clusters that were freed but may not be handed out again before the next commit: ascending,
 * disjoint runs; those that touch and were freed in the same transaction are one. The group's lock protects it.
 */
#pragma once

#include <stdbool.h>

#include "allocator/core/buddy.h"
#include "support/vector.h"

struct ext2mb;

/* How all of that is kept. The first three are called with the group's lock held, in this order. */
struct pending_operations {
	/* Whether any cluster of the range is waiting already. */
	bool (*overlaps)(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);
	/* Makes sure that the next addition cannot fail. ENOMEM. */
	errcode_t (*reserve)(struct ext2mb *mb, uint32_t number);
	void (*add)(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);
	/*
	 * Releases what was added up to the transaction, which has just ended, showing it to the discard function,
	 * whose first error is returned.
	 */
	errcode_t (*commit)(struct ext2mb *mb, uint32_t tid);
	/* NULL, or what is wrong with the group's (a literal). No other thread. */
	const char *(*check)(const struct ext2mb *mb, uint32_t number);
};

struct pending_run {
	uint32_t start;
	uint32_t count;
	uint32_t tid;
};

/* Zero-initialise. */
struct pending_free {
	struct pending_run *runs;
	size_t capacity;
	uint32_t count;
};

void pending_free_destroy(struct pending_free *pending);

/* Makes room for one more run, so that the next add cannot fail. ENOMEM. */
MUST_CHECK errcode_t pending_free_reserve(struct pending_free *pending);

/* Whether any cluster of the range is waiting already. */
bool pending_free_overlaps(const struct pending_free *pending, uint32_t start, uint32_t count);

/*
 * Adds a range that overlaps nothing, merged with both neighbours where they touch before anything is
 * inserted. Room must have been reserved.
 */
void pending_free_add(struct pending_free *pending, uint32_t start, uint32_t count, uint32_t tid);

/*
 * The first run of transactions up to `tid` that begins at or after `from`, touching ones of different transactions as
 * one; false when there is none.
 */
bool pending_free_next(const struct pending_free *pending, uint32_t from, uint32_t tid, uint32_t *start,
                       uint32_t *count);

/* NULL, or what is wrong with a run that comes after the previous one (NULL: it is the first): a literal. */
const char *pending_run_check(const struct pending_run *run, const struct pending_run *previous,
                              const struct buddy *buddy);

typedef void (*pending_free_visit)(void *context, uint32_t start, uint32_t count);

/*
 * Visits and drops, in ascending order, the runs of transactions up to `tid`, touching ones of different transactions
 * as one. Returns how many clusters that were.
 */
uint32_t pending_free_release(struct pending_free *pending, uint32_t tid, pending_free_visit visit, void *context);
