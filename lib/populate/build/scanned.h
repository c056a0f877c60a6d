/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sources' contents, filled in by scan_sources(). Later stages only read it, except members that name a stage. */
#pragma once

#include <ext2fs/ext2_fs.h>

#include "populate/build/identity.h"
#include "tree/tree.h"

struct base_image;

/* Requirements of encrypted files to the new filesystem (populate/plan/encrypted.h). */
struct scanned_encrypted {
	uint32_t first_node;     /* that is encrypted; 0: none is */
	uint32_t block_bytes;    /* of all of them */
	uint32_t first_keeper;   /* of those that keep their inode number; 0: there is none */
	uint32_t highest_number; /* of an inode that is kept */
};

/* The filesystem of the one source that is an image, where the new one is to be like it (populate/format/likeness.h).
 */
struct likeness {
	bool is_wanted;
	struct ext2_super_block super; /* in host order */
	uint64_t journal_blocks;       /* of one inside it; 0: there is none */
	bool has_boot_code, has_bad_blocks;
};

struct scanned {
	struct tree *tree;       /* zero detection: holes; filesystem_empty(): the owner of its root */
	uint32_t inode_count;    /* nodes that are not further names of a file */
	bool has_lost_found;     /* the source brings a lost+found of its own */
	uint32_t lost_found_set; /* xattrs of mke2fs's lost+found, if that stays: in tree->xattr_sets */
	bool has_protected;      /* files that fs-verity is to protect */
	struct scanned_encrypted encrypted;
	bool lacks_projects;     /* the host has not been asked for those of its files */
	struct base_image *base; /* the image whose layout is to be kept; may be NULL */
	struct likeness like;
	struct identity identity;  /* of the filesystem */
	uint64_t least_hole_bytes; /* populate(): of zeros between data of a file; 0: all that are a cluster */
	uint64_t known_zero_bytes; /* zero detection: those that are holes of the tree now */
};

/* Nodes first .. end-1. */
struct node_range {
	uint32_t first, end;
};

/* The part with a number, where the nodes are cut into parts of nodes_each. */
static inline struct node_range node_part(const struct tree *tree, uint32_t nodes_each, size_t number)
{
	uint32_t first = (uint32_t)number * nodes_each, left = tree->node_count - first;

	return (struct node_range){ first, first + (left < nodes_each ? left : nodes_each) };
}

/* The number of such parts. */
static inline size_t node_part_count(const struct tree *tree, uint32_t nodes_each)
{
	return ((size_t)tree->node_count + nodes_each - 1) / nodes_each;
}

/* Workers share out the nodes in tasks of this many. */
#define NODES_PER_TASK 4096u

static inline size_t node_task_count(const struct tree *tree)
{
	return node_part_count(tree, NODES_PER_TASK);
}

static inline struct node_range node_task(const struct tree *tree, size_t task)
{
	return node_part(tree, NODES_PER_TASK, task);
}
