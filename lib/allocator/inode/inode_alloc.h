/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inode numbers: shares and Orlov's rule for directories, near the parent for the rest, or packed in order. */
#pragma once

#include "allocator/core/allocator.h"

/* EXT2MB_ET_NO_INODES, EXT2MB_ET_BAD_ARGUMENT, ENOMEM. */
MUST_CHECK errcode_t inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request,
                                 ext2_ino_t *ino);

/* EXT2MB_ET_BAD_RANGE (reserved ones too), EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM. */
MUST_CHECK errcode_t inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, bool is_directory);

/*
 * In which group the last subdirectory of a directory was put, as the kernel remembers in i_last_alloc_group: the next
 * one goes on there, so that what is full is not looked at again, and neighbours by time are neighbours on disk.
 */
#define DIRECTORY_GOALS 64u

struct directory_goals {
	_Atomic uint64_t goals[DIRECTORY_GOALS]; /* the parent's inode number and the group; 0: none */
};

#define INODE_SEARCH_LEAST_RUN 16u /* inodes: a block of the inode table */

/* A search for a free inode, made from a request. */
struct inode_search {
	struct ext2mb *mb;
	bool is_directory;
	uint32_t parent_group;
	uint32_t run;   /* of so many free inodes is wanted, or the longest that there is; 0: it does not matter */
	ext2_ino_t ino; /* what was taken, 0: nothing yet */
};

struct inode_operations {
	/* Each may find nothing: then any group will do. The parent's group is known. ENOMEM. */
	errcode_t (*alloc_for_directory)(struct inode_search *search, const struct ext2mb_inode_request *request);
	errcode_t (*alloc_for_file)(struct inode_search *search, const struct ext2mb_inode_request *request);
	/* Returns the group at which the search for a directory in the root begins. */
	uint32_t (*hash_name)(const struct ext2mb *mb, const char *name);
};

/* Ours (directory_inodes.c). */
extern const struct inode_operations inodes_in_shares;

/*
 * Takes the group's first free inode at or after `from` that is not reserved, waiting for the lock or not. A corrupt
 * group has none. ENOMEM.
 */
MUST_CHECK errcode_t inode_search_group(struct inode_search *search, uint32_t group, uint32_t from, bool waits);

/* The first inode to be had in [from, end): groups that other threads hold are waited for after all others failed. */
MUST_CHECK errcode_t inode_search_groups(struct inode_search *search, uint32_t from, uint32_t end);

static inline bool inode_search_goes_on(const struct inode_search *search, errcode_t error)
{
	return !error && !search->ino;
}

/* One past a flex group's last group; without flex_bg that is one group. */
static inline uint32_t flex_end(const struct ext2mb *mb, uint32_t flex)
{
	uint64_t end = ((uint64_t)flex + 1) * mb->geometry.flex_groups;

	return end < mb->geometry.groups ? (uint32_t)end : mb->geometry.groups;
}
