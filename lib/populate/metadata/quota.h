/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quotas: usage by id, which is counted while inodes are written, and its end in a new image, the quota files. (tune2fs
 * -Q, which made them before, reads all inodes again. It is the judge of tests/populate-quota.)
 *
 * Each inode is charged to its user, its group and its project: with one inode and the blocks that it owns, and with
 * one inode more for each of its xattr values in an inode of its own (ea_inode), which itself is charged to no one. The
 * filesystem's own inodes are charged to no one, but lost+found is. So the kernel and e2fsck count.
 */
#pragma once

#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"
#include "ondisk/usage_by_id.h"

/* Zero-initialise. */
struct quota_usage {
	struct usage_by_id types[QUOTA_TYPES];
};

/* Charges a node's inode, which has that value. Does nothing without quotas. Each worker has its own usage. ENOMEM. */
MUST_CHECK errcode_t quota_charge(const struct plan *plan, const struct filesystem *filesystem, uint32_t node,
                                  const struct inode_value *value, struct quota_usage *usage);

/* Adds `more` to `all`. ENOMEM. */
MUST_CHECK errcode_t quota_usage_join(struct quota_usage *all, const struct quota_usage *more);

void quota_usage_free(struct quota_usage *usage);

/* Writes the quota files of all types that the filesystem has; after inodes_write(). Sorts the usage. */
MUST_CHECK errcode_t quota_write(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                                 const struct workplace *work, struct quota_usage *usage);
