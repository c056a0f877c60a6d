/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the hash tree of a filesystem in a file, level by level, by all threads. Memory is a buffer for each of them:
 * of an image of 16 TiB the tree itself has 130 GiB.
 */
#pragma once

#include "output/leaf_hashes.h"
#include "support/run/pool.h"
#include "support/run/progress.h"

/* A part of a file. */
struct file_part {
	int descriptor; /* borrowed */
	uint64_t offset_bytes;
	const char *path; /* for messages */
};

struct dm_verity_tree {
	struct hash_tree tree;   /* over the filesystem */
	struct hash_tree upper;  /* the same hash over blocks of the tree */
	struct file_part data;   /* the filesystem */
	struct file_part hashes; /* the tree */
	bool has_holes;          /* the filesystem's file tells where it has holes */
	const struct leaf_hashes *leaves;
};

/* Lays it out. EINVAL: form is one that no tree can have. */
MUST_CHECK errcode_t dm_verity_tree_init(struct dm_verity_tree *tree, const struct hash_tree_form *form,
                                         uint64_t data_bytes);

/*
 * Writes all of the tree; leaves that are known are in their places. root gets digest_size bytes. Main thread. Bytes of
 * the filesystem are added to the progress.
 */
MUST_CHECK errcode_t dm_verity_tree_write(const struct dm_verity_tree *tree, struct pool *pool,
                                          struct progress *progress, uint8_t root[HASH_TREE_MOST_DIGEST_BYTES],
                                          struct problem *problem);
