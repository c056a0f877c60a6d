/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an allocator has beside ours that goes the kernel's ways, all or some of them. */
#ifndef EXT2FS_KERNEL_POLICY_H
#define EXT2FS_KERNEL_POLICY_H

#include "ext2fs/compare/kernel_goals.h"
#include "ext2fs/compare/kernel_lists.h"
#include "ext2fs/compare/kernel_pending.h"
#include "ext2fs/compare/md_lock.h"
#include "ext2fs/compare/policies.h"
#include "ext2fs/group/group_index.h"
#include "ext2fs/search/group_search.h"
#include "ext2fs/search/stream_goals.h"

struct kernel_policy {
	uint32_t choices;
	struct kernel_lists *lists[INDEX_KINDS]; /* in place of sets; NULL with ordered-sets */
	struct kernel_goals *goals;              /* NULL: ours */
	struct kernel_pending *pending;          /* NULL: ours */
	struct md_lock md_lock;
	_Atomic bool has_stale_index; /* it was off before patch 11: groups may be in wrong sets */
	_Atomic uint64_t bounces;
	struct goal_operations goal_operations;
	struct search_operations search_operations;
};

/* Of an allocator that policy_open() has opened. */
static inline struct kernel_policy *kernel_policy_of(const struct ext2mb *mb)
{
	return mb->policy.state;
}

static inline bool kernel_chooses(const struct ext2mb *mb, uint32_t choice)
{
	return kernel_policy_of(mb)->choices & choice;
}

#endif
