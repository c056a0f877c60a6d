/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds paths of inode numbers, and reads only their ancestors. */
#pragma once

#include "analyze/read/inode_scan.h"

/* An inode, and the variable for its path. */
struct path_wanted {
	uint32_t ino;
	const char **path;
};

/*
 * Finds the paths of count inodes (an inode may come twice), after the directories were scanned. Paths are in the
 * report's arena, "/" for the root; NULL if no directory leads from the root to the inode, or the path is longer than
 * 16 KiB. If an inode has several names, one in the lowest-numbered directory is taken. Memory: some 100 bytes for
 * each inode and ancestor. ENOMEM. Parts that cannot be read are damage.
 */
MUST_CHECK errcode_t paths_find(struct inode_scan *scan, const struct path_wanted *wanted, size_t count);
