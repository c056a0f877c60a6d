/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The need of holders (apply/releasing.h). They are inodes without names, which have the parts of a file that no
 * transaction can hold until it is whole, or old contents until they are freed piece by piece. They are made when most
 * of the space has been taken, so there has to be room for them.
 */
#pragma once

#include "image/volume.h"
#include "update/build/options.h"

/*
 * Files with no more blocks are neither written in parts nor held. So none of those that may be stored in the inode is
 * divided.
 */
#define HOLDING_LEAST_BLOCKS 64u
/*
 * The most blocks that an action logs, without bitmaps and releases: three inodes (its own, the replaced one, the
 * directory's), a shared xattr block, and the blocks of a directory whose leaf and index are split. Batches have no
 * more actions than fit the log by this, so there are no more holders.
 */
#define ACTION_LOGGED_BLOCKS 14u

struct holding {
	const struct volume *volume; /* borrowed */
	uint64_t room;               /* a transaction may log so many blocks */
	uint64_t most_groups;        /* and free blocks in so many groups; 0: it can do that in all groups */
	uint64_t parts;              /* of the file with the most of them */
	uint64_t replaced;           /* files whose old contents may have to be held */
	uint64_t part_map, old_map;  /* blocks of the largest map */
};

/* The volume stays as it is as long as *holding is used. Errors of reading the journal's inode; ENOMEM. */
MUST_CHECK errcode_t holding_begin(const struct update_options *options, const struct volume *volume,
                                   struct holding *holding);

/* Adds a file that gets so many blocks in place of those of before (0: it is new). */
void holding_add(struct holding *holding, uint64_t blocks, uint64_t old_blocks);

/* Returns the most inodes, and in *blocks the most blocks, that holders have at a time. */
uint64_t holding_most(const struct holding *holding, uint64_t *blocks);
