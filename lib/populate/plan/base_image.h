/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An earlier image of nearly the same tree (--stable-from): where everything was. Read from the main thread only.
 * Nothing that it says is relied upon: it only tells what to ask the new filesystem for. Before
 * anything is placed, blocks that a file of the same name had are reserved for it again, as many as it still needs, so
 * that two builds of nearly the same tree differ in few blocks (Android's base_fs has the same purpose).
 */
#pragma once

#include "image/directory_walk.h"
#include "populate/build/build.h"

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
 * Makes build->base, if the options name an earlier image, in which the filesystem begins where it does in the one to
 * be made. EINVAL with a reason: it is what is to be written in place.
 */
MUST_CHECK errcode_t base_image_open(struct build *build);

/* NULL is allowed. */
void base_image_close(struct base_image *base);

/*
 * Makes build->reused from build->base. Serial: what is kept depends on the tree and the earlier image alone. Does
 * nothing where there is no earlier image, or one with blocks of another size.
 */
MUST_CHECK errcode_t base_image_reserve(struct build *build);

/* Frees build->reused. */
void base_image_release(struct build *build);
