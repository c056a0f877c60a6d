/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ext2fs/core/allocator.h"

/*
 * Whether all preallocations lie in clusters that their groups count as in use, none in another or in what is to be
 * freed, and are as many clusters as are counted and marked (group_reserved.h). EXT2MB_ET_CHECK_FAILED and a sentence
 * in why, ENOMEM. No other thread may run.
 */
MUST_CHECK errcode_t check_preallocations(struct ext2mb *mb, char *why, size_t why_bytes);
