/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our rules: directories and what is in them share their group; where none has a share left, Orlov's. */
#include "ext2fs/inode/directory_share.h"
#include "ext2fs/inode/orlov.h"

/*
 * So many groups are asked for a share: what is farther away is not near. All 8192 of 1 TiB, when none had one, took 20
 * microseconds for each directory.
 */
#define SHARE_GROUPS 1024u

#define DISPLACEMENTS 64u /* groups that are tried when the parent's is full; a power of two: all over, evenly */

/* The first of so many groups, from start on and round, that can hold the directory and its files, if one can know. */
static errcode_t take_share(struct inode_search *search, const struct directory_share *share, uint32_t start,
                            uint32_t count)
{
	struct ext2mb *mb = search->mb;
	errcode_t error = 0;

	search->run = share->inodes;
	for (uint32_t step = 0; step < count && inode_search_goes_on(search, error); step++) {
		uint32_t group = (uint32_t)(((uint64_t)start + step) % mb->geometry.groups);

		if (directory_share_fits(mb, group, share))
			error = inode_search_group(search, group, 0, true);
	}
	search->run = 0;
	return error;
}

/*
 * In the parent's group or where its last subdirectory went, or from there on in the next one that has a share left;
 * where none has, half a share must do. What is left then is for Orlov's rules.
 */
static errcode_t take_with_share(struct inode_search *search, ext2_ino_t parent)
{
	struct ext2mb *mb = search->mb;
	struct directory_share share = directory_share_whole(mb);
	uint32_t count = mb->geometry.groups < SHARE_GROUPS ? mb->geometry.groups : SHARE_GROUPS;
	uint32_t start = directory_goal_load(mb, parent);
	errcode_t error;

	do {
		error = take_share(search, &share, start, count);
	} while (inode_search_goes_on(search, error) && directory_share_halve(&share));
	if (search->ino)
		directory_goal_store(mb, parent, (search->ino - 1) / mb->geometry.inodes_per_group);
	return error;
}

/* In a flex group: where a group has a share left, if any has. */
static errcode_t take_in_flex(struct inode_search *search, uint32_t first, uint32_t end)
{
	struct directory_share share = directory_share_whole(search->mb);
	errcode_t error = take_share(search, &share, first, end - first);

	return inode_search_goes_on(search, error) ? inode_search_groups(search, first, end) : error;
}

static errcode_t take_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	errcode_t error = request->parent == EXT2_ROOT_INO ? 0 : take_with_share(search, request->parent);

	return inode_search_goes_on(search, error) ? orlov_take_for_directory(search, request, take_in_flex) : error;
}

/* At the parent's place or after it in a group that need not be its own, then anywhere in that. */
static errcode_t take_after_parent(struct inode_search *search, uint32_t group, ext2_ino_t parent, bool waits)
{
	uint32_t after = parent % search->mb->geometry.inodes_per_group;
	errcode_t error = inode_search_group(search, group, after, waits);

	if (inode_search_goes_on(search, error))
		error = inode_search_group(search, group, 0, waits);
	return error;
}

/* A half of the span, a fourth, three fourths, an eighth ...: the number's bits, the last one first. */
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
 * What its parent's group has no room for goes to groups far from that, by halves of the span, to the parent's place
 * there: so those who were neighbours still are, and none has its inodes in the order in which they were taken.
 */
static errcode_t take_displaced(struct inode_search *search, ext2_ino_t parent, uint32_t first, uint32_t span)
{
	errcode_t error = 0;

	for (uint32_t number = 1; number < DISPLACEMENTS && number < span && inode_search_goes_on(search,
	                                                                                          error); number++) {
		uint32_t group = first + (search->parent_group - first + displacement(number, span)) % span;

		error = take_after_parent(search, group, parent, false);
	}
	return error;
}

/* With shares: in the parent's, then in its group, then elsewhere in its flex group and in the others. */
static errcode_t take_in_share(struct inode_search *search, ext2_ino_t parent)
{
	const struct ext2mb *mb = search->mb;
	uint32_t flex = search->parent_group / mb->geometry.flex_groups;
	uint32_t first = flex * mb->geometry.flex_groups;
	errcode_t error = take_after_parent(search, search->parent_group, parent, true);

	if (inode_search_goes_on(search, error))
		error = take_displaced(search, parent, first, flex_end(mb, flex) - first);
	if (inode_search_goes_on(search, error))
		error = take_displaced(search, parent, 0, mb->geometry.groups);
	return error;
}

static errcode_t take_for_file(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	errcode_t error = take_in_share(search, request->parent);

	return inode_search_goes_on(search, error) ? orlov_take_for_file(search, request) : error;
}

const struct inode_operations inodes_in_shares = { take_for_directory, take_for_file };
