/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of an earlier image of nearly the same tree (--stable-from). Only the main thread reads it.
 * The build does not rely on it: it only selects the blocks to request from the new filesystem. Before
 * anything is placed, blocks that a file of the same name had are reserved for it again, as many as it still needs, so
 * that two builds of nearly the same tree differ in few blocks (Android's base_fs has the same purpose).
 */
#pragma once

#include "image/directory_walk.h"
#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"
#include "populate/format/filesystem.h"

struct base_image {
	struct volume volume;
	struct directory_walker walker;
	uint64_t map_blocks_read, directory_blocks_read;
	void *inode; /* the bytes of the one that was read last */
	bool is_open;
	struct identity identity;
	uint32_t block_bytes;
	uint64_t blocks;
	uint32_t inode_count; /* of the filesystem */
	uint32_t *inodes;     /* of each node of the tree: the inode of the same name and type; 0: there was none */
};

/*
 * Makes scanned->base, if the options name an earlier image, in which the filesystem begins where it does in the one to
 * be made. EINVAL with a reason: it is what is to be written in place.
 */
MUST_CHECK errcode_t base_image_open(struct scanned *scanned, bool in_place, const struct workplace *work);

/* NULL is allowed. */
void base_image_close(struct base_image *base);

/*
 * Makes plan->reused from plan->source->base. Serial: the kept blocks depend only on the tree and the earlier image.
 * Does nothing if there is no earlier image, or if its block size differs.
 */
MUST_CHECK errcode_t base_image_reserve(struct plan *plan, const struct filesystem *filesystem,
                                        const struct workplace *work);

/* Frees plan->reused. */
void base_image_release(struct plan *plan);

/*
 * Warns if the earlier image has other features than the one that is made, whose every inode or group may then differ.
 * ENOMEM.
 */
MUST_CHECK errcode_t base_image_warn(const struct plan *plan, const struct filesystem *filesystem,
                                     struct warnings *warnings);
