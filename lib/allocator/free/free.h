/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frees clusters: checks them, and records them until the next commit (commit.h). */
#pragma once

#include <stdint.h>

#include "allocator/core/allocator.h"

/*
 * Records clusters as freed; the next commit releases them. The caller has checked that they lie in the filesystem and
 * hold none of its metadata. EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_RESERVED_FREE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM: nothing
 * has changed.
 */
MUST_CHECK errcode_t free_clusters(struct ext2mb_worker *worker, uint64_t position, uint64_t count);

/*
 * Frees clusters of the worker's last hand-out at once. EXT2MB_ET_BAD_RANGE: they are not part of it, or a commit has
 * happened since; EXT2MB_ET_DOUBLE_FREE.
 */
MUST_CHECK errcode_t free_at_once(struct ext2mb_worker *worker, uint64_t position, uint64_t count);
