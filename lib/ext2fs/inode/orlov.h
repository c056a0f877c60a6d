/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's rules: Orlov's for directories, near the parent for files. Ours come to them last. */
#pragma once

#include "ext2fs/inode/inode_search.h"

/* What flex groups have on average. Hints. */
struct flex_counts {
	uint64_t free_inodes;
	uint64_t free_clusters;
	uint64_t directories;
	uint64_t group_inodes; /* free ones, in each group */
};

struct flex_counts orlov_average(struct ext2mb *mb);

/*
 * For top-level directories, which are spread by their names: the flex group with the fewest directories of those that
 * are not below average. False: there is none.
 */
bool orlov_choose_flex(struct ext2mb *mb, const char *name, const struct flex_counts *average, uint32_t *flex);

/* Other directories stay near their parent unless there are too many already or too little room. */
MUST_CHECK errcode_t orlov_take_near_parent(struct inode_search *search, const struct flex_counts *average);

/* The last choice before any group at all: one with no fewer free inodes than the average. */
MUST_CHECK errcode_t orlov_take_above_average(struct inode_search *search, const struct flex_counts *average);

/* Files: the parent's group or, with flex_bg, the first one of its flex group; else probe ever wider, as ext2 did. */
MUST_CHECK errcode_t orlov_take_for_file(struct inode_search *search, const struct ext2mb_inode_request *request);
