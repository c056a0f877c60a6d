/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/search/stream_goals.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Groups from one goal to the next, where there are so many: eight of the longest extents with blocks of 4 KiB. Goals
 * all over the disk would leave free space between any two streams, and cut a large disk into as many pieces as
 * there are streams (64 streams of 1 GiB on 200 GiB: 178 free extents instead of 84).
 */
#define GOAL_DISTANCE 8u

errcode_t stream_goals_create(struct stream_goals *goals, uint32_t streams, const struct geometry *geometry)
{
	uint32_t groups = geometry->groups;
	uint32_t most = groups / 4 + (groups % 4 != 0);

	*goals = (struct stream_goals){ .count = streams < most ? streams : most };
	goals->goals = aligned_alloc(_Alignof(struct stream_goal), goals->count * sizeof(*goals->goals));
	if (!goals->goals)
		return ENOMEM;
	for (uint32_t index = 0; index < goals->count; index++) {
		uint32_t group = groups / goals->count < GOAL_DISTANCE ?
		                         (uint32_t)((uint64_t)index * groups / goals->count) :
		                         index * GOAL_DISTANCE;

		if (geometry_is_kept_for_directories(geometry, group) && group + 1 < groups)
			group++;
		atomic_init(&goals->goals[index].group, group);
	}
	return 0;
}

void stream_goals_destroy(struct stream_goals *goals)
{
	free(goals->goals);
	*goals = (struct stream_goals){ 0 };
}

/* The stream by the number of goals: as the kernel hashes an inode's number. */
static struct cluster_place load(struct ext2mb *mb, uint64_t stream)
{
	const struct stream_goals *goals = mb->goals;

	return (struct cluster_place){
		.group = atomic_load_explicit(&goals->goals[stream % goals->count].group, memory_order_relaxed),
	};
}

static void store(struct ext2mb *mb, uint64_t stream, uint32_t group, uint32_t cluster)
{
	_Atomic uint32_t *goal = &mb->goals->goals[stream % mb->goals->count].group;

	(void)cluster;
	if (atomic_load_explicit(goal, memory_order_relaxed) != group)
		atomic_store_explicit(goal, group, memory_order_relaxed);
}

const struct goal_operations stream_goals_padded = { load, store, false, COUNT_STREAM_GOAL_HITS };
