/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inodes of one group, under their own lock. Indexes are counted from the group's first inode. */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/group/group.h"

/*
 * With the lock held: reads the bitmap on first touch. EXT2MB_ET_CORRUPT_GROUP, ENOMEM; the lock stays held.
 */
MUST_CHECK errcode_t inode_group_load(struct ext2mb *mb, uint32_t number);

/*
 * Locks and loads the group of an inode that is in use; *index is the inode's index there. After an error the lock is
 * not held. EXT2MB_ET_BAD_RANGE (also for reserved inodes), EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
MUST_CHECK errcode_t inode_group_enter(struct ext2mb *mb, ext2_ino_t ino, uint32_t *number, uint32_t *index);

/*
 * With the lock held and the bitmap loaded: allocates the first free inode at or after `from`; *index is its index.
 * False: there is none.
 */
bool inode_group_alloc(struct ext2mb *mb, uint32_t number, uint32_t from, bool is_directory, uint32_t *index);

/*
 * The same with the first inode of the first aligned run of `run` free inodes (a power of two). False: there is none.
 */
bool inode_group_alloc_run(struct ext2mb *mb, uint32_t number, uint32_t run, bool is_directory, uint32_t *index);

/* With the lock held and the bitmap loaded: frees an inode that is in use. */
void inode_group_give(struct ext2mb *mb, uint32_t number, uint32_t index, bool is_directory);

static inline uint32_t inode_group_free(const struct ext2mb *mb, uint32_t number)
{
	return atomic_load_explicit(&mb->groups[number].inodes.free_inodes, memory_order_relaxed);
}

static inline uint32_t inode_group_directories(const struct ext2mb *mb, uint32_t number)
{
	return atomic_load_explicit(&mb->groups[number].inodes.directories, memory_order_relaxed);
}
