/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/search/goals.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Groups from one goal to the next, where there are so many: eight of the longest extents with blocks of 4 KiB. Goals
 * all over the disk would leave free space between any two streams, and cut a large disk into as many pieces as
 * there are streams (64 streams of 1 GiB on 200 GiB: 178 free extents instead of 84).
 */
#define GOAL_DISTANCE 8u

errcode_t goals_create(struct goals *goals, uint32_t streams, uint32_t groups, uint32_t flex_groups)
{
	uint32_t most = groups / 4 + (groups % 4 != 0);

	*goals = (struct goals){ .count = streams < most ? streams : most };
	goals->goals = aligned_alloc(_Alignof(struct stream_goal), goals->count * sizeof(*goals->goals));
	if (!goals->goals)
		return ENOMEM;
	for (uint32_t index = 0; index < goals->count; index++) {
		uint32_t group = groups / goals->count < GOAL_DISTANCE ?
		                         (uint32_t)((uint64_t)index * groups / goals->count) :
		                         index * GOAL_DISTANCE;

		if (flex_groups >= 4 && group % flex_groups == 0 && group + 1 < groups)
			group++;
		atomic_init(&goals->goals[index].group, group);
	}
	return 0;
}

void goals_destroy(struct goals *goals)
{
	free(goals->goals);
	*goals = (struct goals){ 0 };
}
