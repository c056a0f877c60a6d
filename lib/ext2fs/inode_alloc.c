/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/inode_alloc.h"

#include "ext2fs/bits.h"
#include "ext2fs/inode_group.h"

static ext2_ino_t number_of(const struct ext2mb *mb, uint32_t group, uint32_t index)
{
	return group * mb->geometry.inodes_per_group + index + 1;
}

/* In a group that holds reserved inodes, the first that is none. */
static uint32_t first_index(const struct ext2mb *mb, uint32_t group)
{
	uint64_t base = (uint64_t)group * mb->geometry.inodes_per_group + 1;

	return mb->geometry.first_inode > base ? (uint32_t)(mb->geometry.first_inode - base) : 0;
}

/*
 * Takes the first free inode of the group at or after `from`, waiting for the lock or not. *taken says whether
 * there was one; a corrupt group has none.
 */
static errcode_t take_from(struct ext2mb *mb, uint32_t group, uint32_t from, bool is_directory, bool waits,
			   ext2_ino_t *ino, bool *taken)
{
	struct lock *lock = &mb->groups[group].inodes.lock;
	uint32_t index = 0;

	*taken = false;
	if (!inode_group_free(mb, group))
		return 0;
	if (waits)
		lock_wait(lock);
	else if (!lock_try(lock))
		return 0;
	errcode_t error = inode_group_load(mb, group);
	if (!error)
		*taken = inode_group_take(mb, group, from, is_directory, &index);
	lock_release(lock);
	if (*taken)
		*ino = number_of(mb, group, index);
	return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
}

static errcode_t pack(struct ext2mb *mb, const struct ext2mb_inode_request *request, bool is_directory,
		      ext2_ino_t *ino)
{
	uint32_t per_group = mb->geometry.inodes_per_group;
	uint32_t goal = request->goal > mb->geometry.first_inode ? request->goal : mb->geometry.first_inode;
	uint32_t from = (goal - 1) % per_group;

	for (uint32_t group = (goal - 1) / per_group; group < mb->geometry.groups; group++, from = 0) {
		bool taken;
		errcode_t error = take_from(mb, group, from, is_directory, true, ino, &taken);

		if (error || taken)
			return error;
	}
	return EXT2MB_ET_NO_INODES;
}

errcode_t inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request, ext2_ino_t *ino)
{
	struct ext2mb *mb = worker->mb;
	bool is_directory = request->flags & EXT2MB_INODE_DIRECTORY;
	errcode_t error = pack(mb, request, is_directory, ino);

	if (error)
		return error;
	stats_add(&worker->stats, COUNT_INODES_ALLOCATED, 1);
	if (is_directory)
		atomic_fetch_add_explicit(&mb->directories, 1, memory_order_relaxed);
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
		inode_group_give(mb, group, index, is_directory);
		/* Before the lock is released, so that a sweep which then finds none notices. */
		stats_add(&worker->stats, COUNT_INODES_FREED, 1);
	}
	lock_release(&inodes->lock);
	if (!error && is_directory)
		atomic_fetch_sub_explicit(&mb->directories, 1, memory_order_relaxed);
	return error;
}
