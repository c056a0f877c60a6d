/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of xattrs that are stored in inodes of their own (feature ea_inode), one for all equal ones:
 * build->xattr_values. Main thread only, but for xattr_value_encode_inode().
 */
#pragma once

#include "populate/build/build.h"
#include "populate/build/run_writer.h"

/*
 * Finds an equal one, or adds it. *number: in build->xattr_values, in the order of the first calls; what it takes is
 * added to *clusters.
 */
MUST_CHECK errcode_t xattr_values_add(struct build *build, const struct xattr *xattr, uint32_t *number,
                                      uint64_t *clusters);

/* Clusters that all values take. */
uint64_t xattr_values_clusters(const struct build *build);

/* Takes their blocks. */
MUST_CHECK errcode_t xattr_values_place(struct build *build, struct pack_range *range);

MUST_CHECK errcode_t xattr_values_write(const struct build *build, struct run_writer *writer);

/* Writes a value's inode as inode_bytes bytes. */
MUST_CHECK errcode_t xattr_value_encode_inode(const struct build *build, uint32_t number, void *bytes);

void xattr_values_release(struct build *build);
