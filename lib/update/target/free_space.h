/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The space of the image that is free for the update. */
#pragma once

#include "image/volume.h"

struct free_space {
	uint64_t blocks, inodes;
};

/*
 * Counts the free blocks and inodes of the groups, and those of orphans without links, which go free before the update
 * begins. The superblock's own counts may be stale after a crash. Reads the orphans. ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t free_space_count(const struct volume *volume, struct free_space *space);
