/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sources' contents, filled in by scan_sources(). Later stages only read it, except members that name a stage. */
#pragma once

#include <ext2fs/ext2_fs.h>

#include "contents/zero_detection.h"
#include "populate/build/identity.h"
#include "tree/node_tasks.h"
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
	struct identity identity; /* of the filesystem */
	struct zero_detection zeros;
};
