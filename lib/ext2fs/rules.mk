# SPDX-License-Identifier: LGPL-2.1-or-later
ext2mb_sources := \
	lib/ext2fs/base_goal.c \
	lib/ext2fs/base_lists.c \
	lib/ext2fs/base_pending.c \
	lib/ext2fs/base_scan.c \
	lib/ext2fs/bits.c \
	lib/ext2fs/buddy.c \
	lib/ext2fs/check.c \
	lib/ext2fs/ext2mb.c \
	lib/ext2fs/free.c \
	lib/ext2fs/fs_orphan.c \
	lib/ext2fs/fs_orphan_release.c \
	lib/ext2fs/fs_state.c \
	lib/ext2fs/fs_writeback.c \
	lib/ext2fs/fs_zones.c \
	lib/ext2fs/goals.c \
	lib/ext2fs/group.c \
	lib/ext2fs/group_index.c \
	lib/ext2fs/group_search.c \
	lib/ext2fs/inode_alloc.c \
	lib/ext2fs/inode_group.c \
	lib/ext2fs/lock.c \
	lib/ext2fs/normalize.c \
	lib/ext2fs/normalize_ext2mb.c \
	lib/ext2fs/normalize_pow2.c \
	lib/ext2fs/normalize_table.c \
	lib/ext2fs/order_set.c \
	lib/ext2fs/orphan_file.c \
	lib/ext2fs/orphan_list.c \
	lib/ext2fs/orphan_slots.c \
	lib/ext2fs/orphan_slots_locked.c \
	lib/ext2fs/pack.c \
	lib/ext2fs/pending_free.c \
	lib/ext2fs/policy.c \
	lib/ext2fs/scan.c \
	lib/ext2fs/stripe.c \
	lib/ext2fs/sync.c
