/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree's xattr sets as they are stored: bytes for the inodes, and blocks that up to 1024 inodes with the
 * same set share (the kernel shares them too, through its cache of xattr blocks). Values that are stored in inodes of
 * their own (feature ea_inode), one for all equal ones, are plan->xattrs.values. Main thread only, but for what is
 * asked of one inode.
 */
#pragma once

#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/* Makes plan->xattrs.stores for plan->format: where each set is stored, and which nodes share its blocks. Names the
 * first node of a set that cannot be stored. */
MUST_CHECK errcode_t xattrs_lay_out(struct plan *plan, struct problem *problem);

/* One more inode has the set: which of the set's blocks it shares, if that needs blocks. */
static inline void xattrs_share(struct xattr_store *store, struct placement *placement)
{
	placement->xattr_share = store->users++ / XATTR_MAX_REFERENCES;
}

/* Clusters that all shared blocks take. */
uint64_t xattrs_clusters(const struct plan *plan);

/* Takes the shared blocks, and those of values. */
MUST_CHECK errcode_t xattrs_place(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work);

/* Writes them, and makes what several inodes have the same; before inodes_write(). */
MUST_CHECK errcode_t xattrs_write(const struct plan *plan, struct sink *sink, const struct workplace *work);

/* What inodes with a set have of it, inode_xattr_area_bytes(), where the set's layout says so. */
MUST_CHECK errcode_t xattrs_encode(const struct plan *plan, uint32_t set, void *area);

/* Clusters of the set's values in inodes of their own: each inode is charged for them as if they were its own. */
uint64_t xattrs_value_clusters(const struct plan *plan, uint32_t set);

/* The block of an inode's xattrs, 0 if it has none. */
uint64_t xattrs_block_of(const struct plan *plan, uint32_t node);

/* Writes the inode of a value as inode_bytes bytes. */
MUST_CHECK errcode_t xattr_value_encode_inode(const struct plan *plan, struct sink *sink, uint32_t number, void *bytes);

void xattrs_release(struct plan *plan);
