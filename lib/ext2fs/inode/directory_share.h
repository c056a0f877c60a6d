/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much of a group a directory is expected to need, and which groups have so much left. ext2's and ext3's Orlov
 * allocator had such an account (INODE_COST, BLOCK_COST and the groups' debts), which ext4 gave up for flex groups:
 * there thousands of directories that are made before their files begin in one group, which cannot hold those.
 *
 * All of it is hints: read without locks, and nothing is reserved.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

struct ext2mb;

/* What a directory is given of its group. */
struct directory_share {
	uint32_t inodes; /* a power of two; the directory's own is the first of them */
	uint32_t clusters;
};

#define DIRECTORY_SHARE_INODES 128u /* at most, */
#define DIRECTORY_SHARE_BLOCKS 512u /* a preallocation for small files of full length; */
#define DIRECTORY_SHARE_PART 4u     /* at most one in so many of a small group's; */
#define DIRECTORY_SHARE_LEAST 16u   /* inodes at least: a block of the inode table */

/* The largest, which directories get as long as there is a group that has it. */
struct directory_share directory_share_whole(const struct ext2mb *mb);

/* Makes it half as large; false, and it stays as it is, if it is the least one. */
bool directory_share_halve(struct directory_share *share);

/*
 * Whether the group has a share left for one more directory, if those that it has will need theirs. Each file takes a
 * 16th from what its group's directories are expected to need: where they hold 16 files on average they are complete,
 * and trees of them are packed as densely as ever.
 */
bool directory_share_fits(const struct ext2mb *mb, uint32_t group, const struct directory_share *share);

/*
 * In which group the last subdirectory of a directory was put, as the kernel remembers in i_last_alloc_group: the next
 * one goes on there, so that what is full is not looked at again, and neighbours by time are neighbours on disk.
 */
#define DIRECTORY_GOALS 64u

struct directory_goals {
	_Atomic uint64_t goals[DIRECTORY_GOALS]; /* the parent's inode number and the group; 0: none */
};

/* That group, or the parent's own if it is not known (any more). Any thread. */
uint32_t directory_goal_load(const struct ext2mb *mb, ext2_ino_t parent);
void directory_goal_store(struct ext2mb *mb, ext2_ino_t parent, uint32_t group);
