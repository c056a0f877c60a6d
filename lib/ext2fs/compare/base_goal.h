/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stream goals as the kernel has and had them: packed, stored by every allocation, at group 0 to begin with; before
 * patches 3 and 4, with the cluster and under the lock that the whole filesystem shares.
 */
#ifndef EXT2FS_BASE_GOAL_H
#define EXT2FS_BASE_GOAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/compare/base_lock.h"
#include "support/problem.h"

struct base_goal {
	uint32_t group;
	uint32_t start; /* cluster in the group */
};

struct base_goals {
	struct base_lock *lock; /* NULL: plain hints */
	bool has_start;         /* else only the group is kept */
	uint32_t count;
	_Atomic uint32_t *groups;
	_Atomic uint32_t *starts;
};

/* lock stays the caller's; NULL: none is to be taken. ENOMEM. */
MUST_CHECK errcode_t base_goals_create(uint32_t count, bool has_start, struct base_lock *lock, struct base_goals **ret);
void base_goals_destroy(struct base_goals *goals);

/* Any thread. */
struct base_goal base_goals_load(struct base_goals *goals, uint64_t stream);
void base_goals_store(struct base_goals *goals, uint64_t stream, const struct base_goal *goal);

#endif
