/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/compare/kernel_policy.h"

static void enter(struct kernel_policy *kernel)
{
	if (!(kernel->choices & CHOICE_STREAM_HINT))
		md_lock_enter(kernel);
}

static void leave(struct kernel_policy *kernel)
{
	if (!(kernel->choices & CHOICE_STREAM_HINT))
		md_lock_leave(kernel);
}

static struct stream_place load(struct ext2mb *mb, uint64_t stream)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	uint32_t index = (uint32_t)(stream % mb->goals->count);

	enter(kernel);
	struct stream_place place = {
		.group = atomic_load_explicit(&kernel->goal_groups[index], memory_order_relaxed),
		.cluster = atomic_load_explicit(&kernel->goal_starts[index], memory_order_relaxed),
	};
	leave(kernel);
	return place;
}

static void store(struct ext2mb *mb, uint64_t stream, uint32_t group, uint32_t cluster)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	uint32_t index = (uint32_t)(stream % mb->goals->count);

	enter(kernel);
	atomic_store_explicit(&kernel->goal_groups[index], group, memory_order_relaxed);
	if (!(kernel->choices & CHOICE_STREAM_GROUP))
		atomic_store_explicit(&kernel->goal_starts[index], cluster, memory_order_relaxed);
	leave(kernel);
}

const struct goal_operations kernel_goals = { .load = load, .store = store };
