/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Freeing: checked, and noted until the next commit (commit.h). */
#pragma once

#include <stdint.h>

#include "allocator/core/allocator.h"

/*
 * Notes clusters as freed, to be released by the next commit; the caller has checked that they lie in the
 * filesystem and hold none of its metadata. EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_RESERVED_FREE, EXT2MB_ET_CORRUPT_GROUP,
 * ENOMEM: nothing has changed.
 */
MUST_CHECK errcode_t free_clusters(struct ext2mb_worker *worker, uint64_t position, uint64_t count);

/*
 * Makes clusters of the worker's last hand-out free again at once. EXT2MB_ET_BAD_RANGE: they are not of it, or there
 * has been a commit since; EXT2MB_ET_DOUBLE_FREE.
 */
MUST_CHECK errcode_t free_at_once(struct ext2mb_worker *worker, uint64_t position, uint64_t count);
