/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one lock for everybody, the kernel's s_md_lock, and how often it was taken. Only choices of before the
 * series take it.
 */
#ifndef EXT2FS_BASE_LOCK_H
#define EXT2FS_BASE_LOCK_H

#include "ext2fs/core/lock.h"

/* Zero-initialise. */
struct base_lock {
	_Alignas(128) struct lock lock;
	uint64_t taken; /* times, counted under the lock */
};

static inline void base_lock_enter(struct base_lock *base)
{
	lock_wait(&base->lock);
	base->taken++;
}

static inline void base_lock_leave(struct base_lock *base)
{
	lock_release(&base->lock);
}

#endif
