/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An earlier image of nearly the same tree (--stable-from): where everything was. Read through libext2fs, from the
 * main thread only. Nothing that it says is relied upon: it only tells what to ask the new filesystem for.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "populate/build/extent_map.h"
#include "source/tree/tree.h"

struct base_image {
	ext2_filsys fs;
	const char *path;
	char uuid[37];
	char hash_seed[37];
	uint32_t block_bytes;
	uint64_t blocks;
	uint32_t inode_count; /* of the filesystem */
	uint32_t *inodes; /* of each node of the tree: the inode of the same name and type; 0: there was none */
};

/*
 * offset_bytes: where in it the filesystem begins, as in the image that is to be made. overwritten: what is written in
 * place, NULL: a new file is made. EINVAL with a reason: both are the same file, which would be overwritten.
 */
MUST_CHECK errcode_t base_image_open(const char *path, const char *overwritten, uint64_t offset_bytes,
                                  struct base_image **ret, struct problem *problem);

/* Fills in inodes. What cannot be read there was not there. ENOMEM. */
MUST_CHECK errcode_t base_image_match(struct base_image *base, const struct tree *tree, struct problem *problem);

/* Where the node's blocks were: written ones only, up to what could be read. ENOMEM. */
MUST_CHECK errcode_t base_image_read_extents(const struct base_image *base, const struct tree *tree, uint32_t node,
                                             struct extent_list *list);

/* NULL is allowed. */
void base_image_close(struct base_image *base);
