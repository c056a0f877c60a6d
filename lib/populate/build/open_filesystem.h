/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filesystem while it is open: filesystem_open() fills it in (populate/format/filesystem.h), and others read it. */
#pragma once

#include <stdbool.h>
#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"
#include "ondisk/quota_file.h"

/* Facts of the empty filesystem that the workers need, copied out of libext2fs's state. */
struct image_geometry {
	uint32_t group_count;
	uint32_t inodes_per_group;
	uint64_t blocks;
	uint64_t *inode_tables; /* first block of each group's */
	bool *inodes_uninit;    /* the group's inode table holds nothing yet */
};

/* A directory of mke2fs's own that stays. */
struct kept_directory {
	ext2_ino_t ino; /* 0: there is none */
	uint64_t blocks;
	uint32_t owners[QUOTA_TYPES];
};

struct filesystem {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker **workers; /* one for each of the pool's */
	unsigned int worker_count;
	struct image_geometry geometry;
	uint32_t quota_inodes[QUOTA_TYPES]; /* 0: there is none */
	bool has_mmp;                       /* the feature is on */
	struct kept_directory lost_found;   /* that of mke2fs, if it is kept */
};
