// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/give_back.h"

#include "ext2fs/group/group.h"
#include "ext2fs/group/group_reserved.h"

/* The unit test includes this file and here looks at what another thread might see. */
#ifndef PREALLOCATION_MEANWHILE
#define PREALLOCATION_MEANWHILE(mb)
#endif

void preallocation_give_back(struct ext2mb *mb, struct stats *stats, uint64_t position, uint32_t count)
{
	uint32_t number = (uint32_t)(position / mb->geometry.clusters_per_group);
	struct group *group = &mb->groups[number];

	group_lock(group);
	buddy_give(group->buddy, (uint32_t)(position % mb->geometry.clusters_per_group), count);
	group_reserved_clear(mb, position, count);
	/* Before another thread can take them: what was taken must never be more than what was there to be taken. */
	stats_add(stats, COUNT_CLUSTERS_UNRESERVED, count);
	group_leave_changed(mb, number);
	PREALLOCATION_MEANWHILE(mb);
}
