/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orphans of the filesystem that is changed: inodes without names, which a mount or e2fsck would delete after a crash.
 * An update makes some of files that a single transaction cannot free; steps that follow free them piece by piece.
 * Main thread.
 */
#pragma once

#include "support/problem.h"
#include "update/target/filesystem.h"

/*
 * Adds an inode without links to the orphans, in the present step, and removes it from them once it has been deleted.
 * Errors of ext2mb_orphan_open(); ENOMEM; EXT2MB_ET_ORPHAN_ABSENT.
 */
MUST_CHECK errcode_t orphans_add(struct update_filesystem *filesystem, uint32_t ino);
MUST_CHECK errcode_t orphans_remove(struct update_filesystem *filesystem, uint32_t ino);

/* As a mount does: releases the orphans that the filesystem has already. image: for messages. No step is open, before
 * and after. */
MUST_CHECK errcode_t orphans_release_old(struct update_filesystem *filesystem, const char *image,
                                         struct problem *problem);

/*
 * Frees the orphans that have been added, with as many commits as that takes. No step is open, before and after. EINTR:
 * the rest of them are orphans still.
 */
MUST_CHECK errcode_t orphans_release(struct update_filesystem *filesystem);

/* The release of an inode gets so many of the blocks that a transaction may log. */
static inline uint64_t orphans_share_of(uint64_t room)
{
	return room / 2;
}

/* How many blocks the release of an inode may log, beside other changes of the same step. */
uint64_t orphans_most_logged(const struct update_filesystem *filesystem);

/*
 * How many groups' bitmaps that allows for, at least one: a bitmap and a descriptor each, and one more block for what
 * else there is in the group.
 */
uint64_t orphans_most_groups(const struct update_filesystem *filesystem);

/* The same for a release that may log so many blocks. Pure. */
uint64_t orphans_groups_in(uint64_t logged);
