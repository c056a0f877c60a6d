/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading and changing a quota file (quota_file.h has its form), as the kernel does: entries are found through the
 * tree, new ones take the first room that the header's lists offer, and what is left empty goes back to them. The
 * bytes are those of an image that nobody vouches for. Pure: the caller reads and writes blocks.
 */
#pragma once

#include <stdbool.h>

#include "ondisk/quota_file.h"
#include "support/problem.h"

/* A file in blocks of QUOTA_BLOCK_BYTES. */
struct quota_blocks {
	uint32_t count; /* whole blocks of the file */
	errcode_t (*read)(struct quota_blocks *blocks, uint32_t number, void *bytes);
	errcode_t (*write)(struct quota_blocks *blocks, uint32_t number, const void *bytes);
	/* Makes the file one block longer, which reads as zeros, and raises the count. NULL: it cannot grow. */
	errcode_t (*append)(struct quota_blocks *blocks);
};

struct quota_tree {
	struct quota_blocks *blocks; /* the caller's */
	uint32_t count;              /* blocks in use, as the header says */
	uint32_t free_block;         /* first of the list of free blocks; 0: none */
	uint32_t entry_block;        /* first of the list of blocks with room for an entry; 0: none */
	bool is_changed;             /* the header is to be written */
};

/* Reads the header. EUCLEAN: it is not one of this type, or has numbers beyond the file; errors in reading. */
MUST_CHECK errcode_t quota_tree_open(struct quota_tree *tree, enum quota_type type, struct quota_blocks *blocks);

/* Finds an owner's usage, zeros if there is no entry. EUCLEAN: the tree is damaged there; errors in reading. */
MUST_CHECK errcode_t quota_tree_find(struct quota_tree *tree, uint32_t id, struct quota_entry *entry);

/*
 * Adds to an owner's usage, or subtracts; usage does not go below zero, as in the kernel. An owner that has no entry
 * gets one; an entry without usage and limits is removed, and so are blocks that become empty. Limits and times of
 * grace stay. EUCLEAN; ENOSPC: the file would have to grow and cannot; errors in reading and writing, and those of
 * append: after them, and EUCLEAN, the file may be half changed, so the step must not be committed.
 */
MUST_CHECK errcode_t quota_tree_change(struct quota_tree *tree, uint32_t id, int64_t inodes, int64_t space_bytes);

/* Writes the header, if it has changed. */
MUST_CHECK errcode_t quota_tree_close(struct quota_tree *tree);
