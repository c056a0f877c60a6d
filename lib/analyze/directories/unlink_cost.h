/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts what deleting files would write: every freed block changes its group's block bitmap, every inode its group's
 * inode bitmap, and a transaction writes each changed bitmap once. ext4 was once found to write four times as much as
 * ext3 when it deleted the same tree, because the files of each directory lay in so many groups (linux-ext4, November
 * 2008).
 */
#pragma once

#include "analyze/read/inode_scan.h"

/*
 * Opens a visitor that makes report->unlink for transactions of batch_files files. Called once the directories are
 * known. It names the most costly directories and the bitmaps that most directories share, as many of each as worst
 * files. Memory: 20 bytes for each file and group in which it has blocks (not for each extent), 56 for a directory, 4
 * for a group and worker. ENOMEM.
 */
MUST_CHECK errcode_t unlink_cost_open(struct inode_scan *scan, uint32_t batch_files, struct inode_visitor *visitor);
