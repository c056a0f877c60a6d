/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/compare/base_goal.h"

#include <errno.h>
#include <stdlib.h>

errcode_t base_goals_create(uint32_t count, bool has_start, struct base_lock *lock, struct base_goals **ret)
{
	struct base_goals *goals = calloc(1, sizeof(*goals));

	if (!goals)
		return ENOMEM;
	*goals = (struct base_goals){
		.lock = lock,
		.has_start = has_start,
		.count = count,
		.groups = calloc(count, sizeof(*goals->groups)),
		.starts = calloc(count, sizeof(*goals->starts)),
	};
	if (!goals->groups || !goals->starts) {
		base_goals_destroy(goals);
		return ENOMEM;
	}
	*ret = goals;
	return 0;
}

void base_goals_destroy(struct base_goals *goals)
{
	if (!goals)
		return;
	free((void *)goals->groups);
	free((void *)goals->starts);
	free(goals);
}

struct base_goal base_goals_load(struct base_goals *goals, uint64_t stream)
{
	uint32_t index = (uint32_t)(stream % goals->count);

	if (goals->lock)
		base_lock_enter(goals->lock);
	struct base_goal goal = {
		.group = atomic_load_explicit(&goals->groups[index], memory_order_relaxed),
		.start = atomic_load_explicit(&goals->starts[index], memory_order_relaxed),
	};
	if (goals->lock)
		base_lock_leave(goals->lock);
	return goal;
}

void base_goals_store(struct base_goals *goals, uint64_t stream, const struct base_goal *goal)
{
	uint32_t index = (uint32_t)(stream % goals->count);

	if (goals->lock)
		base_lock_enter(goals->lock);
	atomic_store_explicit(&goals->groups[index], goal->group, memory_order_relaxed);
	if (goals->has_start)
		atomic_store_explicit(&goals->starts[index], goal->start, memory_order_relaxed);
	if (goals->lock)
		base_lock_leave(goals->lock);
}
