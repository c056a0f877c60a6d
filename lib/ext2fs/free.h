/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Freeing, and the commit that makes what was freed available again. */
#ifndef EXT2FS_FREE_H
#define EXT2FS_FREE_H

#include <stdint.h>

#include "ext2fs/allocator.h"

/*
 * Notes clusters as freed, to be released by the next commit; the caller has checked that they lie in the
 * filesystem and hold none of its metadata. EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_RESERVED_FREE, EXT2MB_ET_CORRUPT_GROUP,
 * ENOMEM: nothing has changed.
 */
MUST_CHECK errcode_t free_clusters(struct ext2mb_worker *worker, uint64_t position, uint64_t count);

/*
 * Makes clusters of the worker's last hand-out free again at once. EXT2MB_ET_BAD_RANGE: they are not of it, or there has
 * been a commit since; EXT2MB_ET_DOUBLE_FREE.
 */
MUST_CHECK errcode_t free_at_once(struct ext2mb_worker *worker, uint64_t position, uint64_t count);

/* EXT2MB_ET_IN_DISCARD: this thread is in the discard function. Else waits for a commit that goes on. */
MUST_CHECK errcode_t free_refuse_in_discard(struct ext2mb *mb);

/*
 * Releases what was freed in epochs up to the present one, group by group, and begins the next; before that, shows
 * it to the caller's discard function, whose first error it returns. Any thread. EXT2MB_ET_IN_DISCARD: that
 * function has called it.
 */
MUST_CHECK errcode_t free_commit(struct ext2mb *mb);

#endif
