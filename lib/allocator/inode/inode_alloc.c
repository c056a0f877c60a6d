/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/inode/inode_alloc.h"

#include <sched.h>

#include "allocator/group/inode_group.h"
#include "allocator/group/totals.h"

/* The unit test includes this file and here does what another thread might. */
#ifndef INODE_SEARCH_MEANWHILE
#define INODE_SEARCH_MEANWHILE(group, waits)
#endif

/* The group is locked and loaded. */
static bool alloc_in_group(struct inode_search *search, uint32_t group, uint32_t from, uint32_t *index)
{
	for (uint32_t run = search->run; run >= INODE_SEARCH_LEAST_RUN; run /= 2)
		if (inode_group_alloc_run(search->mb, group, run, search->is_directory, index))
			return true;
	return inode_group_alloc(search->mb, group, from, search->is_directory, index);
}

errcode_t inode_search_group(struct inode_search *search, uint32_t group, uint32_t from, bool waits)
{
	struct ext2mb *mb = search->mb;
	struct lock *lock = &mb->groups[group].inodes.lock;
	uint64_t first = (uint64_t)group * mb->geometry.inodes_per_group + 1;
	uint32_t index;

	INODE_SEARCH_MEANWHILE(group, waits);

	if (!inode_group_free(mb, group))
		return 0;
	if (first + from < mb->geometry.first_inode)
		from = (uint32_t)(mb->geometry.first_inode - first);
	if (waits)
		lock_wait(lock);
	else if (!lock_try(lock))
		return 0;
	errcode_t error = inode_group_load(mb, group);
	if (!error && alloc_in_group(search, group, from, &index))
		search->ino = (ext2_ino_t)first + index;
	lock_release(lock);
	return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
}

errcode_t inode_search_groups(struct inode_search *search, uint32_t from, uint32_t end)
{
	errcode_t error = 0;

	for (int waits = 0; waits <= 1; waits++)
		for (uint32_t group = from; group < end && inode_search_goes_on(search, error); group++)
			error = inode_search_group(search, group, 0, waits);
	return error;
}

/*
 * Every group in turn, from the parent's on, waiting for each. Frees are counted when they begin and when they
 * have ended (see struct ext2mb's releases), so that NO_INODES is never returned while an inode is free.
 */
static errcode_t alloc_anywhere(struct inode_search *search)
{
	struct ext2mb *mb = search->mb;

	for (;;) {
		uint64_t ended = totals_count(mb, COUNT_INODES_FREED);
		errcode_t error = 0;

		for (uint32_t step = 0; step < mb->geometry.groups && inode_search_goes_on(search, error); step++)
			error = inode_search_group(
				search, (uint32_t)(((uint64_t)search->parent_group + step) % mb->geometry.groups), 0,
				true);
		if (error || search->ino)
			return error;
		if (totals_count(mb, COUNT_INODE_FREES_BEGUN) == ended)
			return EXT2MB_ET_NO_INODES;
		sched_yield();
	}
}

/* Takes inode numbers in order and regards nothing else, so that the result depends on the request alone. */
static errcode_t alloc_packed(struct inode_search *search, ext2_ino_t goal)
{
	struct ext2mb *mb = search->mb;
	uint32_t per_group = mb->geometry.inodes_per_group;
	uint32_t from = goal ? (goal - 1) % per_group : 0;
	errcode_t error = 0;

	for (uint32_t group = goal ? (goal - 1) / per_group : 0;
	     group < mb->geometry.groups && inode_search_goes_on(search, error); group++, from = 0)
		error = inode_search_group(search, group, from, true);
	return inode_search_goes_on(search, error) ? EXT2MB_ET_NO_INODES : error;
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
		error = alloc_packed(&search, request->goal);
	else if (search.is_directory)
		error = mb->policy.inodes->alloc_for_directory(&search, request);
	else
		error = mb->policy.inodes->alloc_for_file(&search, request);
	if (!error && !search.ino)
		error = alloc_anywhere(&search);
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
	uint32_t group, index;
	errcode_t error = inode_group_enter(mb, ino, &group, &index);

	if (error)
		return error;
	atomic_fetch_add(&worker->stats.counters[COUNT_INODE_FREES_BEGUN], 1);
	inode_group_give(mb, group, index, is_directory);
	lock_release(&mb->groups[group].inodes.lock);
	stats_add(&worker->stats, COUNT_INODES_FREED, 1);
	if (is_directory)
		atomic_fetch_sub_explicit(&mb->directories, 1, memory_order_relaxed);
	return 0;
}
