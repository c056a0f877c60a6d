/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/inode/inode_alloc.h"

#include <sched.h>

#include "ext2fs/core/bits.h"
#include "ext2fs/inode/directory_share.h"
#include "ext2fs/group/inode_group.h"

/* The unit test includes this file and here does what another thread might. */
#ifndef INODE_ALLOC_MEANWHILE
#define INODE_ALLOC_MEANWHILE(group, waits)
#endif

static bool has_shares(const struct ext2mb *mb)
{
	return mb->policy.choices & EXT2MB_CHOICE_DIRECTORY_SHARES;
}

/*
 * So many groups are asked for a share: what is farther away is not near. All 8192 of 1 TiB, when none had one, took 20
 * microseconds for each directory.
 */
#define SHARE_GROUPS 1024u

#define DISPLACEMENTS 64u /* groups that are tried when the parent's is full; a power of two: all over, evenly */

/* What a request comes down to. */
struct inode_search {
	struct ext2mb *mb;
	bool is_directory;
	uint32_t parent_group;
	uint32_t run;   /* a run of so many free inodes is wanted, or the longest that there is; 0: it does not matter */
	ext2_ino_t ino; /* what was taken, 0: nothing yet */
};

/* The group is locked and loaded. */
static bool take_in_group(struct inode_search *search, uint32_t group, uint32_t from, uint32_t *index)
{
	for (uint32_t run = search->run; run >= DIRECTORY_SHARE_LEAST; run /= 2)
		if (inode_group_take_run(search->mb, group, run, search->is_directory, index))
			return true;
	return inode_group_take(search->mb, group, from, search->is_directory, index);
}

/*
 * Takes the group's first free inode at or after `from` that is not reserved, waiting for the lock or not.
 * A corrupt group has none.
 */
static errcode_t take_from(struct inode_search *search, uint32_t group, uint32_t from, bool waits)
{
	struct ext2mb *mb = search->mb;
	struct lock *lock = &mb->groups[group].inodes.lock;
	uint64_t first = (uint64_t)group * mb->geometry.inodes_per_group + 1;
	uint32_t index;

	INODE_ALLOC_MEANWHILE(group, waits);

	if (!inode_group_free(mb, group))
		return 0;
	if (first + from < mb->geometry.first_inode)
		from = (uint32_t)(mb->geometry.first_inode - first);
	if (waits)
		lock_wait(lock);
	else if (!lock_try(lock))
		return 0;
	errcode_t error = inode_group_load(mb, group);
	if (!error && take_in_group(search, group, from, &index))
		search->ino = (ext2_ino_t)first + index;
	lock_release(lock);
	return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
}

/* The first inode to be had in [from, end): groups that are held by others are waited for only in vain of the rest. */
static errcode_t take_in_groups(struct inode_search *search, uint32_t from, uint32_t end)
{
	errcode_t error = 0;

	for (int waits = 0; waits <= 1; waits++)
		for (uint32_t group = from; group < end && !error && !search->ino; group++)
			error = take_from(search, group, 0, waits);
	return error;
}

/*
 * Every group in turn, from the parent's on, waiting for each. Frees are counted when they begin and when they
 * have ended (see struct ext2mb's releases), so that NO_INODES is never returned while an inode is free.
 */
static errcode_t take_anywhere(struct inode_search *search)
{
	struct ext2mb *mb = search->mb;

	for (;;) {
		uint64_t ended = allocator_sum(mb, COUNT_INODES_FREED);
		errcode_t error = 0;

		for (uint32_t step = 0; step < mb->geometry.groups && !error && !search->ino; step++)
			error = take_from(search,
			                  (uint32_t)(((uint64_t)search->parent_group + step) % mb->geometry.groups), 0,
			                  true);
		if (error || search->ino)
			return error;
		if (allocator_sum(mb, COUNT_INODE_FREES_BEGUN) == ended)
			return EXT2MB_ET_NO_INODES;
		sched_yield();
	}
}

/* Sums over a flex group; without flex_bg that is one group. Hints. */
struct flex_counts {
	uint64_t free_inodes;
	uint64_t free_clusters;
	uint64_t directories;
};

static uint32_t flex_end(const struct ext2mb *mb, uint32_t flex)
{
	uint64_t end = ((uint64_t)flex + 1) * mb->geometry.flex_groups;

	return end < mb->geometry.groups ? (uint32_t)end : mb->geometry.groups;
}

static struct flex_counts count_flex(const struct ext2mb *mb, uint32_t flex)
{
	struct flex_counts counts = { 0 };

	for (uint32_t group = flex * mb->geometry.flex_groups; group < flex_end(mb, flex); group++) {
		counts.free_inodes += inode_group_free(mb, group);
		counts.free_clusters += group_free_clusters(&mb->groups[group]);
		counts.directories += inode_group_directories(mb, group);
	}
	return counts;
}

static uint32_t flex_count(const struct ext2mb *mb)
{
	return (uint32_t)(((uint64_t)mb->geometry.groups + mb->geometry.flex_groups - 1) / mb->geometry.flex_groups);
}

static struct flex_counts average_flex(struct ext2mb *mb)
{
	uint32_t count = flex_count(mb);

	return (struct flex_counts){
		.free_inodes = ext2mb_free_inodes(mb) / count,
		.free_clusters = (ext2mb_free_blocks(mb) >> mb->geometry.cluster_bits) / count,
		.directories = atomic_load_explicit(&mb->directories, memory_order_relaxed) / count,
	};
}

/* FNV-1a: spreads names, and the same ones in the same way everywhere. */
static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash;
}

/* The first of so many groups, from start on and round, that can hold the directory and its files, if one can know. */
static errcode_t take_share(struct inode_search *search, const struct directory_share *share, uint32_t start,
                            uint32_t count)
{
	struct ext2mb *mb = search->mb;
	errcode_t error = 0;

	search->run = share->inodes;
	for (uint32_t step = 0; step < count && !error && !search->ino; step++) {
		uint32_t group = (uint32_t)(((uint64_t)start + step) % mb->geometry.groups);

		if (directory_share_fits(mb, group, share))
			error = take_from(search, group, 0, true);
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
	} while (!error && !search->ino && directory_share_halve(&share));
	if (search->ino)
		directory_goal_store(mb, parent, (search->ino - 1) / mb->geometry.inodes_per_group);
	return error;
}

/* Top-level directories are spread: the flex group with the fewest directories of those that are not below average. */
static errcode_t take_top_level(struct inode_search *search, const char *name, const struct flex_counts *average)
{
	struct ext2mb *mb = search->mb;
	uint32_t flexes = flex_count(mb);
	uint64_t start = name ? hash_name(name) : atomic_load_explicit(&mb->directories, memory_order_relaxed);
	uint64_t fewest = UINT64_MAX;
	uint32_t best = 0;

	for (uint32_t step = 0; step < flexes; step++) {
		uint32_t flex = (uint32_t)((start + step) % flexes);
		struct flex_counts counts = count_flex(mb, flex);

		if (!counts.free_inodes || counts.free_inodes < average->free_inodes ||
		    counts.free_clusters < average->free_clusters || counts.directories >= fewest)
			continue;
		fewest = counts.directories;
		best = flex;
	}
	if (fewest == UINT64_MAX)
		return 0;
	errcode_t error = 0;
	if (has_shares(mb)) {
		struct directory_share share = directory_share_whole(mb);

		error = take_share(search, &share, best * mb->geometry.flex_groups,
		                   flex_end(mb, best) - best * mb->geometry.flex_groups);
	}
	if (!error && !search->ino)
		error = take_in_groups(search, best * mb->geometry.flex_groups, flex_end(mb, best));
	return error;
}

static uint64_t less(uint64_t value, uint64_t slack)
{
	return value > slack ? value - slack : 0;
}

/* Other directories stay near their parent unless there are too many already or too little room. */
static errcode_t take_near_parent(struct inode_search *search, const struct flex_counts *average)
{
	struct ext2mb *mb = search->mb;
	uint32_t flexes = flex_count(mb);
	uint64_t flex_inodes = (uint64_t)mb->geometry.inodes_per_group * mb->geometry.flex_groups;
	uint64_t flex_clusters = (uint64_t)mb->geometry.clusters_per_group * mb->geometry.flex_groups;
	uint64_t least_inodes = less(average->free_inodes, flex_inodes / 4);
	errcode_t error = 0;

	for (uint32_t step = 0; step < flexes && !error && !search->ino; step++) {
		uint32_t flex = (uint32_t)(((uint64_t)search->parent_group / mb->geometry.flex_groups + step) % flexes);
		struct flex_counts counts = count_flex(mb, flex);

		if (counts.free_inodes && counts.free_inodes >= least_inodes &&
		    counts.directories < average->directories + flex_inodes / 16 &&
		    counts.free_clusters >= less(average->free_clusters, flex_clusters / 4))
			error = take_in_groups(search, flex * mb->geometry.flex_groups, flex_end(mb, flex));
	}
	return error;
}

/* Orlov's last choice before any group at all: one with no fewer free inodes than the average. */
static errcode_t take_above_average(struct inode_search *search)
{
	struct ext2mb *mb = search->mb;
	uint64_t average = ext2mb_free_inodes(mb) / mb->geometry.groups;
	errcode_t error = 0;

	for (uint32_t step = 0; step < mb->geometry.groups && !error && !search->ino; step++) {
		uint32_t group = (uint32_t)(((uint64_t)search->parent_group + step) % mb->geometry.groups);

		if (inode_group_free(mb, group) >= average)
			error = take_from(search, group, 0, false);
	}
	return error;
}

static errcode_t take_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	struct flex_counts average = average_flex(search->mb);
	errcode_t error = 0;

	if (request->parent == EXT2_ROOT_INO)
		error = take_top_level(search, request->name, &average);
	else if (has_shares(search->mb))
		error = take_with_share(search, request->parent);
	if (!error && !search->ino && request->parent != EXT2_ROOT_INO)
		error = take_near_parent(search, &average);
	if (!error && !search->ino)
		error = take_above_average(search);
	return error;
}

/* At the parent's place or behind it in a group that need not be its own, then anywhere in that. */
static errcode_t take_behind_parent(struct inode_search *search, uint32_t group, ext2_ino_t parent, bool waits)
{
	uint32_t behind = parent % search->mb->geometry.inodes_per_group;
	errcode_t error = take_from(search, group, behind, waits);

	if (!error && !search->ino)
		error = take_from(search, group, 0, waits);
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

	for (uint32_t number = 1; number < DISPLACEMENTS && number < span && !error && !search->ino; number++) {
		uint32_t group = first + (search->parent_group - first + displacement(number, span)) % span;

		error = take_behind_parent(search, group, parent, false);
	}
	return error;
}

/* With shares: in the parent's, then in its group, then elsewhere in its flex group and in the others. */
static errcode_t take_in_share(struct inode_search *search, ext2_ino_t parent)
{
	const struct ext2mb *mb = search->mb;
	uint32_t flex = search->parent_group / mb->geometry.flex_groups;
	uint32_t first = flex * mb->geometry.flex_groups;
	errcode_t error = take_behind_parent(search, search->parent_group, parent, true);

	if (!error && !search->ino)
		error = take_displaced(search, parent, first, flex_end(mb, flex) - first);
	if (!error && !search->ino)
		error = take_displaced(search, parent, 0, mb->geometry.groups);
	return error;
}

/* Files: the parent's group or, with flex_bg, the first one of its flex group; else probe ever wider, as ext2 did. */
static errcode_t take_for_file(struct inode_search *search, ext2_ino_t parent)
{
	struct ext2mb *mb = search->mb;
	uint32_t groups = mb->geometry.groups;
	errcode_t error = has_shares(mb) ? take_in_share(search, parent) : 0;

	if (error || search->ino)
		return error;
	if (mb->geometry.flex_groups > 1) {
		uint32_t flex = search->parent_group / mb->geometry.flex_groups;

		return take_in_groups(search, flex * mb->geometry.flex_groups, flex_end(mb, flex));
	}
	error = take_in_groups(search, search->parent_group, search->parent_group + 1);
	uint64_t group = ((uint64_t)search->parent_group + parent) % groups;
	for (uint64_t step = 1; step < groups && !error && !search->ino; step *= 2) {
		group = (group + step) % groups;
		if (group_free_clusters(&mb->groups[group]))
			error = take_from(search, (uint32_t)group, 0, false);
	}
	return error;
}

/* In order, without regard for anything else, so that the result depends on the request alone. */
static errcode_t take_packed(struct inode_search *search, ext2_ino_t goal)
{
	struct ext2mb *mb = search->mb;
	uint32_t per_group = mb->geometry.inodes_per_group;
	uint32_t from = goal ? (goal - 1) % per_group : 0;
	errcode_t error = 0;

	for (uint32_t group = goal ? (goal - 1) / per_group : 0; group < mb->geometry.groups && !error && !search->ino;
	     group++, from = 0)
		error = take_from(search, group, from, true);
	return !error && !search->ino ? EXT2MB_ET_NO_INODES : error;
}

errcode_t inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request, ext2_ino_t *ino)
{
	struct ext2mb *mb = worker->mb;
	struct inode_search search = { .mb = mb, .is_directory = request->flags & EXT2MB_INODE_DIRECTORY };
	errcode_t error;

	if (request->parent)
		search.parent_group = (request->parent - 1) / mb->geometry.inodes_per_group;
	if (search.parent_group >= mb->geometry.groups)
		return EXT2MB_ET_BAD_ARGUMENT;
	if (request->flags & EXT2MB_INODE_PACK)
		error = take_packed(&search, request->goal);
	else if (search.is_directory)
		error = take_for_directory(&search, request);
	else
		error = take_for_file(&search, request->parent);
	if (!error && !search.ino)
		error = take_anywhere(&search);
	if (error)
		return error;

	stats_add(&worker->stats, COUNT_INODES_ALLOCATED, 1);
	if (search.is_directory)
		atomic_fetch_add_explicit(&mb->directories, 1, memory_order_relaxed);
	*ino = search.ino;
	return 0;
}

errcode_t inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, bool is_directory)
{
	struct ext2mb *mb = worker->mb;
	uint32_t group = (ino - 1) / mb->geometry.inodes_per_group;
	uint32_t index = (ino - 1) % mb->geometry.inodes_per_group;

	if (ino < mb->geometry.first_inode || group >= mb->geometry.groups)
		return EXT2MB_ET_BAD_RANGE;

	struct inode_group *inodes = &mb->groups[group].inodes;
	lock_wait(&inodes->lock);
	errcode_t error = inode_group_load(mb, group);
	if (!error && !bits_test(inodes->bitmap, index))
		error = EXT2MB_ET_DOUBLE_FREE;
	if (!error) {
		atomic_fetch_add(&worker->stats.counters[COUNT_INODE_FREES_BEGUN], 1);
		inode_group_give(mb, group, index, is_directory);
	}
	lock_release(&inodes->lock);
	if (error)
		return error;
	stats_add(&worker->stats, COUNT_INODES_FREED, 1);
	if (is_directory)
		atomic_fetch_sub_explicit(&mb->directories, 1, memory_order_relaxed);
	return 0;
}
