/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's rules: Orlov's for directories, near the parent for files. Our own rules fall back to them. */
#pragma once

#include "allocator/inode/inode_alloc.h"

/* Allocates in the groups of a flex group, [first, end), or finds no inode. ENOMEM. */
typedef errcode_t (*orlov_take_in_flex)(struct inode_search *search, uint32_t first, uint32_t end);

/*
 * Spreads top-level directories by a hash of their names: to the flex group with the fewest directories among those
 * with at least the average of free inodes and clusters, if there is one; take chooses the group in it. Other
 * directories stay near their parent unless there are too many already or there is too little space. Failing that, it
 * takes a group with at least the average number of free inodes, and at last any group.
 */
MUST_CHECK errcode_t orlov_alloc_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request,
                                               orlov_take_in_flex take);

/* ext2mb's own hash of a name, the same on every filesystem. */
uint32_t orlov_hash_name(const struct ext2mb *mb, const char *name);

/*
 * Files: tries the parent's group or, with flex_bg, the first one of its flex group; then probes at growing distances,
 * as ext2 did.
 */
MUST_CHECK errcode_t orlov_alloc_for_file(struct inode_search *search, const struct ext2mb_inode_request *request);
