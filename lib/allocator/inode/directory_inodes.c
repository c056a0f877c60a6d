/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Our rules: directories and what is in them share their group; where none has a share left, Orlov's.
 *
 * A share is what of a group a directory is expected to need. ext2's and ext3's Orlov allocator had such an account
 * (INODE_COST, BLOCK_COST and the groups' debts), which ext4 gave up for flex groups: there thousands of directories
 * that are made before their files begin in one group, which cannot hold those.
 *
 * All of it is hints: read without locks, and nothing is reserved.
 */
#include "allocator/core/arithmetic.h"
#include "allocator/group/inode_group.h"
#include "allocator/inode/orlov.h"

#define SHARE_INODES 128u /* at most, */
#define SHARE_BLOCKS 512u /* a preallocation for small files of full length; */
#define SHARE_PART 4u     /* at most one in so many of a small group's */

/* Needs are counted in parts of a share, of which every file takes one. */
#define PARTS 16u

/*
 * A search for a share looks at this many groups: farther groups are not near. When none of the 8192 groups of 1 TiB
 * had a share, looking at all of them took 20 microseconds for each directory.
 */
#define SHARE_GROUPS 1024u

#define DISPLACEMENTS 64u /* groups that are tried when the parent's is full; a power of two: all over, evenly */

/* A directory's share of its group. */
struct share {
	uint32_t inodes; /* a power of two, INODE_SEARCH_LEAST_RUN at least; the directory's own is the first of them */
	uint32_t clusters;
};

/* Halves the share. False: it is the smallest one, and stays. */
static bool halve(struct share *share)
{
	if (share->inodes <= INODE_SEARCH_LEAST_RUN)
		return false;
	share->inodes /= 2;
	share->clusters /= 2;
	return true;
}

/* The largest share, which directories get as long as a group has one left. */
static struct share whole_share(const struct ext2mb *mb)
{
	const struct geometry *geometry = &mb->geometry;
	struct share share = {
		.inodes = SHARE_INODES,
		.clusters = (uint32_t)min_u64(geometry_to_clusters(geometry, SHARE_BLOCKS),
		                              geometry->clusters_per_group / SHARE_PART),
	};

	while (share.inodes > geometry->inodes_per_group / SHARE_PART && halve(&share))
		continue;
	return share;
}

/*
 * True if the group has a share left for one more directory, should its present directories need theirs. Each file
 * takes a 16th of the share that its group's directories are expected to need. Directories of 16 files on average are
 * complete then, and trees of such directories stay densely packed.
 */
static bool has_share_left(const struct ext2mb *mb, uint32_t group, const struct share *share)
{
	uint32_t free_inodes = inode_group_free(mb, group);
	uint64_t directories = inode_group_directories(mb, group);
	uint64_t used = mb->geometry.inodes_per_group - free_inodes;
	uint64_t files = used > directories ? used - directories : 0;
	uint64_t open_parts = PARTS * directories > files ? PARTS * directories - files : 0;
	uint64_t parts = open_parts + PARTS;

	/* The directories' own inodes are a part of what they need. */
	return (free_inodes + directories) * PARTS >= parts * share->inodes &&
	       (uint64_t)group_free_clusters(&mb->groups[group]) * PARTS >= parts * share->clusters;
}

#define GOAL_GROUP_BITS 32

/* The group in which the last subdirectory was put, or the parent's own group if that is not known. Any thread. */
static uint32_t load_goal(const struct ext2mb *mb, ext2_ino_t parent)
{
	uint64_t goal =
		atomic_load_explicit(&mb->directory_goals->goals[parent % DIRECTORY_GOALS], memory_order_relaxed);

	if (goal >> GOAL_GROUP_BITS == parent)
		return (uint32_t)goal;
	return (parent - 1) / mb->geometry.inodes_per_group;
}

static void store_goal(struct ext2mb *mb, ext2_ino_t parent, uint32_t group)
{
	_Atomic uint64_t *goal = &mb->directory_goals->goals[parent % DIRECTORY_GOALS];
	uint64_t value = (uint64_t)parent << GOAL_GROUP_BITS | group;

	if (atomic_load_explicit(goal, memory_order_relaxed) != value)
		atomic_store_explicit(goal, value, memory_order_relaxed);
}

/* The first of this many groups, from start on and around, that can be expected to hold the directory and its files. */
static errcode_t alloc_share(struct inode_search *search, const struct share *share, uint32_t start, uint32_t count)
{
	struct ext2mb *mb = search->mb;
	errcode_t error = 0;

	search->run = share->inodes;
	for (uint32_t step = 0; step < count && inode_search_goes_on(search, error); step++) {
		uint32_t group = (uint32_t)(((uint64_t)start + step) % mb->geometry.groups);

		if (has_share_left(mb, group, share))
			error = inode_search_group(search, group, 0, true);
	}
	search->run = 0;
	return error;
}

/*
 * Tries the parent's group or the group of its last subdirectory, and from there on the next group that has a share
 * left. If none has, half a share must do. The rest is left to Orlov's rules.
 */
static errcode_t alloc_with_share(struct inode_search *search, ext2_ino_t parent)
{
	struct ext2mb *mb = search->mb;
	struct share share = whole_share(mb);
	uint32_t count = mb->geometry.groups < SHARE_GROUPS ? mb->geometry.groups : SHARE_GROUPS;
	uint32_t start = load_goal(mb, parent);
	errcode_t error;

	do {
		error = alloc_share(search, &share, start, count);
	} while (inode_search_goes_on(search, error) && halve(&share));
	if (search->ino)
		store_goal(mb, parent, (search->ino - 1) / mb->geometry.inodes_per_group);
	return error;
}

/* In a flex group: where a group has a share left, if any has. */
static errcode_t alloc_in_flex(struct inode_search *search, uint32_t first, uint32_t end)
{
	struct share share = whole_share(search->mb);
	errcode_t error = alloc_share(search, &share, first, end - first);

	return inode_search_goes_on(search, error) ? inode_search_groups(search, first, end) : error;
}

static errcode_t alloc_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	errcode_t error = request->parent == EXT2_ROOT_INO ? 0 : alloc_with_share(search, request->parent);

	return inode_search_goes_on(search, error) ? orlov_alloc_for_directory(search, request, alloc_in_flex) : error;
}

/* At the parent's place or after it in a group that need not be its own, then anywhere in that. */
static errcode_t alloc_after_parent(struct inode_search *search, uint32_t group, ext2_ino_t parent, bool waits)
{
	uint32_t after = parent % search->mb->geometry.inodes_per_group;
	errcode_t error = inode_search_group(search, group, after, waits);

	if (inode_search_goes_on(search, error))
		error = inode_search_group(search, group, 0, waits);
	return error;
}

/* Reverses the number's bits: the middle of the span, a fourth, three fourths, an eighth and so on. */
static uint32_t displacement(uint32_t number, uint32_t span)
{
	uint32_t sum = 0;

	for (; number; number /= 2) {
		span /= 2;
		sum += number % 2 * span;
	}
	return sum;
}

/*
 * Directories that do not fit into their parent's group go to groups far from it, by halves of the span, and there to
 * the parent's place. So neighbours stay neighbours, and their order of arrival does not decide.
 */
static errcode_t alloc_displaced(struct inode_search *search, ext2_ino_t parent, uint32_t first, uint32_t span)
{
	errcode_t error = 0;

	for (uint32_t number = 1; number < DISPLACEMENTS && number < span && inode_search_goes_on(search, error);
	     number++) {
		uint32_t group = first + (search->parent_group - first + displacement(number, span)) % span;

		error = alloc_after_parent(search, group, parent, false);
	}
	return error;
}

/* With shares: in the parent's, then in its group, then elsewhere in its flex group and in the others. */
static errcode_t alloc_in_share(struct inode_search *search, ext2_ino_t parent)
{
	const struct ext2mb *mb = search->mb;
	uint32_t flex = search->parent_group / mb->geometry.flex_groups;
	uint32_t first = flex * mb->geometry.flex_groups;
	errcode_t error = alloc_after_parent(search, search->parent_group, parent, true);

	if (inode_search_goes_on(search, error))
		error = alloc_displaced(search, parent, first, flex_end(mb, flex) - first);
	if (inode_search_goes_on(search, error))
		error = alloc_displaced(search, parent, 0, mb->geometry.groups);
	return error;
}

static errcode_t alloc_for_file(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	errcode_t error = alloc_in_share(search, request->parent);

	return inode_search_goes_on(search, error) ? orlov_alloc_for_file(search, request) : error;
}

const struct inode_operations inodes_in_shares = { alloc_for_directory, alloc_for_file, orlov_hash_name };
