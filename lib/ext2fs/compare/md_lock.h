/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one lock for all threads, the kernel's s_md_lock, and how often it was taken. Only choices of before the
 * series take it.
 */
#ifndef EXT2FS_MD_LOCK_H
#define EXT2FS_MD_LOCK_H

#include "ext2fs/core/lock.h"

/* Zero-initialise. */
struct md_lock {
	_Alignas(128) struct lock lock;
	uint64_t taken; /* times, counted under the lock */
};

static inline void md_lock_enter(struct md_lock *md_lock)
{
	lock_wait(&md_lock->lock);
	md_lock->taken++;
}

static inline void md_lock_leave(struct md_lock *md_lock)
{
	lock_release(&md_lock->lock);
}

#endif
