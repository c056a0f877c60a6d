/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Freed clusters that wait for a commit, as the kernel keeps them: a record for every run, in a tree of its group
 * and on one list under one lock for the whole filesystem. Before patch 9 every free was put on the list and then
 * joined with each neighbour, which came off it again: up to three times the lock instead of none or one. Before
 * patch 8 the number of waiting clusters was kept under that lock, too.
 */
#ifndef EXT2FS_BASE_PENDING_H
#define EXT2FS_BASE_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/compare/base_lock.h"
#include "support/problem.h"

struct ext2mb;
struct base_tree;
struct base_record;

struct base_pending {
	struct base_lock *lock;    /* of everything up to clusters, if that is not atomic */
	struct base_record *first; /* what the next commit releases */
	struct base_record *last;
	uint32_t epoch;
	bool merges_first;
	bool counts_atomically;
	_Atomic uint64_t clusters; /* waiting */
	struct base_tree *trees;   /* one for each group, under the group's lock */
};

MUST_CHECK errcode_t base_pending_create(uint32_t groups, bool merges_first, bool counts_atomically,
                                         struct base_lock *lock, struct base_pending **ret);
void base_pending_destroy(struct base_pending *pending, uint32_t groups);

/* These three with the group's lock held, and in this order. As in pending_free.h. */
bool base_pending_overlaps(const struct base_pending *pending, uint32_t group, uint32_t start, uint32_t count);
MUST_CHECK errcode_t base_pending_reserve(struct base_pending *pending, uint32_t group);
void base_pending_add(struct base_pending *pending, uint32_t group, uint32_t start, uint32_t count);

/*
 * Releases what was added before, record by record in the order in which they came, each shown to the discard function
 * before, whose first error is returned. One thread at a time.
 */
MUST_CHECK errcode_t base_pending_commit(struct ext2mb *mb);

/* NULL, or what is wrong (a literal). No other thread. */
const char *base_pending_check(const struct ext2mb *mb);

#endif
