/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One group's freed clusters, which may not be allocated again before the next commit. They are ascending, disjoint
 * runs; adjacent ones that were freed in the same transaction are merged. The group's lock protects the list.
 */
#pragma once

#include <stdbool.h>

#include "allocator/core/buddy.h"
#include "support/vector.h"

struct ext2mb;

/* The operations on pending frees. Callers hold the group's lock for the first three, and call them in this order. */
struct pending_operations {
	/* Whether any cluster of the range is pending already. */
	bool (*overlaps)(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);
	/* Makes sure that the next addition cannot fail. ENOMEM. */
	errcode_t (*reserve)(struct ext2mb *mb, uint32_t number);
	void (*add)(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);
	/*
	 * Releases the clusters added up to transaction tid, which has just ended. Passes them to the discard function,
	 * and returns its first error.
	 */
	errcode_t (*commit)(struct ext2mb *mb, uint32_t tid);
	/* Returns NULL, or a literal that says which of the group's runs is wrong. No other thread runs. */
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

/* Allocates room for one more run, so that the next add cannot fail. ENOMEM. */
MUST_CHECK errcode_t pending_free_reserve(struct pending_free *pending);

/* Whether any cluster of the range is pending already. */
bool pending_free_overlaps(const struct pending_free *pending, uint32_t start, uint32_t count);

/*
 * Adds a range that overlaps no run. Merges it with adjacent neighbours first, and inserts a run only if there are
 * none. Room must have been reserved.
 */
void pending_free_add(struct pending_free *pending, uint32_t start, uint32_t count, uint32_t tid);

/*
 * Finds the first run of transactions up to `tid` that begins at or after `from`; joins adjacent runs of different
 * transactions. False: there is none.
 */
bool pending_free_next(const struct pending_free *pending, uint32_t from, uint32_t tid, uint32_t *start,
                       uint32_t *count);

/*
 * Checks a run that follows the previous one (NULL: it is the first). Returns NULL, or a literal that says what is
 * wrong.
 */
const char *pending_run_check(const struct pending_run *run, const struct pending_run *previous,
                              const struct buddy *buddy);

typedef void (*pending_free_visit)(void *context, uint32_t start, uint32_t count);

/*
 * Visits and removes the runs of transactions up to `tid`, in ascending order; joins adjacent runs of different
 * transactions. Returns the number of clusters.
 */
uint32_t pending_free_release(struct pending_free *pending, uint32_t tid, pending_free_visit visit, void *context);
