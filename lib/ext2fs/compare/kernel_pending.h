/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Freed clusters that wait for a commit, as the kernel keeps them: a record for every run, in a tree of its group
 * and on one list under one lock for the whole filesystem. Before patch 9 every free was put on the list and then
 * joined with each neighbour, which came off it again: up to three times the lock instead of none or one. Before
 * patch 8 the number of waiting clusters was kept under that lock, too.
 */
#ifndef EXT2FS_KERNEL_PENDING_H
#define EXT2FS_KERNEL_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/compare/md_lock.h"
#include "ext2fs/group/pending_free.h"

struct kernel_tree;
struct kernel_record;

struct kernel_pending {
	struct md_lock *lock;    /* of everything up to clusters, if that is not atomic */
	struct kernel_record *first; /* what the next commit releases */
	struct kernel_record *last;
	uint32_t tid;
	bool merges_first;
	bool counts_atomically;
	_Atomic uint64_t clusters; /* waiting */
	uint32_t groups;
	struct kernel_tree *trees;   /* one for each group, under the group's lock */
};

MUST_CHECK errcode_t kernel_pending_create(uint32_t groups, bool merges_first, bool counts_atomically,
                                         struct md_lock *lock, struct kernel_pending **ret);
void kernel_pending_destroy(struct kernel_pending *pending);

/*
 * A commit releases record by record in the order in which they came, each shown to the discard function before, whose
 * first error is returned. One thread at a time.
 */
extern const struct pending_operations kernel_pending_operations;

#endif
