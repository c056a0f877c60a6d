// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/inode/directory_share.h"

#include "ext2fs/core/allocator.h"
#include "ext2fs/core/minmax.h"
#include "ext2fs/group/inode_group.h"

/* Needs are counted in parts of a share, of which every file takes one. */
#define PARTS 16u

struct directory_share directory_share_whole(const struct ext2mb *mb)
{
	const struct geometry *geometry = &mb->geometry;
	struct directory_share share = {
		.inodes = DIRECTORY_SHARE_INODES,
		.clusters = (uint32_t)min_u64(geometry_to_clusters(geometry, DIRECTORY_SHARE_BLOCKS),
		                              geometry->clusters_per_group / DIRECTORY_SHARE_PART),
	};

	while (share.inodes > DIRECTORY_SHARE_LEAST &&
	       share.inodes > geometry->inodes_per_group / DIRECTORY_SHARE_PART)
		directory_share_halve(&share);
	return share;
}

bool directory_share_halve(struct directory_share *share)
{
	if (share->inodes <= DIRECTORY_SHARE_LEAST)
		return false;
	share->inodes /= 2;
	share->clusters /= 2;
	return true;
}

bool directory_share_fits(const struct ext2mb *mb, uint32_t group, const struct directory_share *share)
{
	uint32_t free_inodes = inode_group_free(mb, group);
	uint64_t directories = inode_group_directories(mb, group);
	uint64_t used = mb->geometry.inodes_per_group - free_inodes;
	uint64_t files = used > directories ? used - directories : 0;
	uint64_t open_parts = PARTS * directories > files ? PARTS * directories - files : 0;
	uint64_t parts = open_parts + PARTS;

	/* Their own inodes are a part of what they need. */
	return (free_inodes + directories) * PARTS >= parts * share->inodes &&
	       (uint64_t)group_free_clusters(&mb->groups[group]) * PARTS >= parts * share->clusters;
}

#define GOAL_GROUP_BITS 32

uint32_t directory_goal_load(const struct ext2mb *mb, ext2_ino_t parent)
{
	uint64_t goal = atomic_load_explicit(&mb->directory_goals->goals[parent % DIRECTORY_GOALS],
	                                     memory_order_relaxed);

	if (goal >> GOAL_GROUP_BITS == parent)
		return (uint32_t)goal;
	return (parent - 1) / mb->geometry.inodes_per_group;
}

void directory_goal_store(struct ext2mb *mb, ext2_ino_t parent, uint32_t group)
{
	_Atomic uint64_t *goal = &mb->directory_goals->goals[parent % DIRECTORY_GOALS];
	uint64_t value = (uint64_t)parent << GOAL_GROUP_BITS | group;

	if (atomic_load_explicit(goal, memory_order_relaxed) != value)
		atomic_store_explicit(goal, value, memory_order_relaxed);
}
