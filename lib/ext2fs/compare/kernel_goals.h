/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stream goals as the kernel has and had them: packed, stored by every allocation, at group 0 to begin with; before
 * patches 3 and 4, with the cluster and under the lock that the whole filesystem shares.
 */
#ifndef EXT2FS_KERNEL_GOALS_H
#define EXT2FS_KERNEL_GOALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/compare/md_lock.h"
#include "ext2fs/search/stream_goals.h"

struct kernel_goals {
	struct md_lock *lock; /* NULL: plain hints */
	bool has_start;         /* else only the group is kept */
	uint32_t count;
	_Atomic uint32_t *groups;
	_Atomic uint32_t *starts;
};

/* lock stays the caller's; NULL: none is to be taken. ENOMEM. */
MUST_CHECK errcode_t kernel_goals_create(uint32_t count, bool has_start, struct md_lock *lock, struct kernel_goals **ret);
void kernel_goals_destroy(struct kernel_goals *goals);

/* But for what a hit is. */
extern const struct goal_operations kernel_goal_operations;

#endif
