/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ext2fs/inode/inode_search.h"

/* Ours. */
extern const struct inode_operations inodes_in_shares;
