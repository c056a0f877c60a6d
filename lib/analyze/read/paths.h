/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From inode numbers to paths, reading only the directories on the way. */
#pragma once

#include "analyze/read/inode_scan.h"

/* An inode, and what gets its path. */
struct path_wanted {
	uint32_t ino;
	const char **path;
};

/*
 * The paths of count inodes (the same one may come twice), after the directories were scanned: from the report's
 * arena, "/" for the root; NULL for what no directory names, or only directories that nothing names, and where
 * the path would be longer than 16 KiB. Of several names one in the lowest-numbered directory is taken. Memory: some
 * 100 bytes for each inode and directory on the way. ENOMEM; what cannot be read is damage.
 */
MUST_CHECK errcode_t paths_find(struct inode_scan *scan, const struct path_wanted *wanted, size_t count);
