/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/compare/kernel_goals.h"

#include <errno.h>
#include <stdlib.h>

#include "ext2fs/compare/kernel_policy.h"

errcode_t kernel_goals_create(uint32_t count, bool has_start, struct md_lock *lock, struct kernel_goals **ret)
{
	struct kernel_goals *goals = calloc(1, sizeof(*goals));

	if (!goals)
		return ENOMEM;
	*goals = (struct kernel_goals){
		.lock = lock,
		.has_start = has_start,
		.count = count,
		.groups = calloc(count, sizeof(*goals->groups)),
		.starts = calloc(count, sizeof(*goals->starts)),
	};
	if (!goals->groups || !goals->starts) {
		kernel_goals_destroy(goals);
		return ENOMEM;
	}
	*ret = goals;
	return 0;
}

void kernel_goals_destroy(struct kernel_goals *goals)
{
	if (!goals)
		return;
	free((void *)goals->groups);
	free((void *)goals->starts);
	free(goals);
}

static struct stream_place load(struct ext2mb *mb, uint64_t stream)
{
	struct kernel_goals *goals = kernel_policy_of(mb)->goals;
	uint32_t index = (uint32_t)(stream % goals->count);

	if (goals->lock)
		md_lock_enter(goals->lock);
	struct stream_place place = {
		.group = atomic_load_explicit(&goals->groups[index], memory_order_relaxed),
		.cluster = atomic_load_explicit(&goals->starts[index], memory_order_relaxed),
	};
	if (goals->lock)
		md_lock_leave(goals->lock);
	return place;
}

static void store(struct ext2mb *mb, uint64_t stream, uint32_t group, uint32_t cluster)
{
	struct kernel_goals *goals = kernel_policy_of(mb)->goals;
	uint32_t index = (uint32_t)(stream % goals->count);

	if (goals->lock)
		md_lock_enter(goals->lock);
	atomic_store_explicit(&goals->groups[index], group, memory_order_relaxed);
	if (goals->has_start)
		atomic_store_explicit(&goals->starts[index], cluster, memory_order_relaxed);
	if (goals->lock)
		md_lock_leave(goals->lock);
}

const struct goal_operations kernel_goal_operations = { .load = load, .store = store };
