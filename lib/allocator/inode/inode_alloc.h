/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocates inode numbers: directories by shares and Orlov's rule, other files near the parent, or packed in order. */
#pragma once

#include "allocator/core/allocator.h"

/* EXT2MB_ET_NO_INODES, EXT2MB_ET_BAD_ARGUMENT, ENOMEM. */
MUST_CHECK errcode_t inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request,
                                 ext2_ino_t *ino);

/* EXT2MB_ET_BAD_RANGE (also for reserved inodes), EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM. */
MUST_CHECK errcode_t inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, bool is_directory);

/*
 * The group of a directory's last subdirectory, which the kernel remembers in i_last_alloc_group. The next search
 * begins there, so it does not search full groups again, and directories made one after the other lie side by side.
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
	uint32_t run;   /* the length of the run of free inodes that is wanted, or else the longest there is; 0: any */
	ext2_ino_t ino; /* the allocated inode, 0: none yet */
};

struct inode_operations {
	/* Each may find no inode: then the caller searches all groups. The parent's group is set. ENOMEM. */
	errcode_t (*alloc_for_directory)(struct inode_search *search, const struct ext2mb_inode_request *request);
	errcode_t (*alloc_for_file)(struct inode_search *search, const struct ext2mb_inode_request *request);
	/* Returns the group at which the search for a directory in the root begins. */
	uint32_t (*hash_name)(const struct ext2mb *mb, const char *name);
};

/* ext2mb's own rules (directory_inodes.c). */
extern const struct inode_operations inodes_in_shares;

/*
 * Allocates the group's first free inode at or after `from` that is not reserved. waits: it waits for the lock. A
 * corrupt group has none. ENOMEM.
 */
MUST_CHECK errcode_t inode_search_group(struct inode_search *search, uint32_t group, uint32_t from, bool waits);

/*
 * Allocates the first free inode in groups [from, end). It waits for groups that other threads hold only after all
 * others failed.
 */
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
