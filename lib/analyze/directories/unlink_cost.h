/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What deleting files would write: every block that is freed changes its group's block bitmap, every inode that of its
 * group, and a transaction writes each bitmap that it changed once. ext4 was once found to write four times as much as
 * ext3 in deleting the same tree, the files of each directory lay in so many groups (linux-ext4, November 2008).
 */
#pragma once

#include "analyze/read/inode_scan.h"

/*
 * A visitor that makes report->unlink, once the directories are known, for transactions of batch_files files; as many
 * of the directories that cost most are named as of the worst files, and as many of the bitmaps that most directories
 * share. Memory: 20 bytes for each file and group that it has blocks in (not for each extent), 56 for a directory, 4
 * for a group and worker. ENOMEM.
 */
MUST_CHECK errcode_t unlink_cost_open(struct inode_scan *scan, uint32_t batch_files, struct inode_visitor *visitor);
