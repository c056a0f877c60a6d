/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/inode/inode_search.h"

#include "ext2fs/group/inode_group.h"
#include "ext2fs/inode/directory_share.h"

/* The unit test includes this file and here does what another thread might. */
#ifndef INODE_SEARCH_MEANWHILE
#define INODE_SEARCH_MEANWHILE(group, waits)
#endif

/* The group is locked and loaded. */
static bool take_in_group(struct inode_search *search, uint32_t group, uint32_t from, uint32_t *index)
{
	for (uint32_t run = search->run; run >= DIRECTORY_SHARE_LEAST; run /= 2)
		if (inode_group_take_run(search->mb, group, run, search->is_directory, index))
			return true;
	return inode_group_take(search->mb, group, from, search->is_directory, index);
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
	if (!error && take_in_group(search, group, from, &index))
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
