/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the inode tables and the maps of files, a group at a time. */
#pragma once

#include "ondisk/inode.h"
#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/report.h"
#include "populate/build/workplace.h"
#include "populate/metadata/quota.h"

/* A node's inode without what its content decides: size, root and the flags of its map are zero. */
void inodes_describe(const struct plan *plan, uint32_t node, struct inode_value *value);

/* After xattrs_write(). Adds what it counts to the report, and what quotas are charged to usage, also after an error.
 */
MUST_CHECK errcode_t inodes_write(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                                  const struct workplace *work, struct quota_usage *usage,
                                  struct populate_report *report);
