/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's rules: Orlov's for directories, near the parent for files. Ours come to them last. */
#pragma once

#include "allocator/inode/inode_alloc.h"

/* Takes from the groups of a flex group, [first, end), or from none. ENOMEM. */
typedef errcode_t (*orlov_take_in_flex)(struct inode_search *search, uint32_t first, uint32_t end);

/*
 * Top-level directories are spread by their names: to the flex group with the fewest directories of those that are not
 * below average, if there is one, where take says which group. Others stay near their parent unless there are too many
 * already or too little room. Then, before any group at all, one with no fewer free inodes than the average.
 */
MUST_CHECK errcode_t orlov_alloc_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request,
                                               orlov_take_in_flex take);

/* Our hash of a name, the same on every filesystem. */
uint32_t orlov_hash_name(const struct ext2mb *mb, const char *name);

/* Files: the parent's group or, with flex_bg, the first one of its flex group; else probe ever wider, as ext2 did. */
MUST_CHECK errcode_t orlov_alloc_for_file(struct inode_search *search, const struct ext2mb_inode_request *request);
