# SPDX-License-Identifier: LGPL-2.1-or-later
# Not in the installed library: an archive of its own, before it in the order of linking.
compare_folder := lib/ext2fs/compare
compare_sources := \
	lib/ext2fs/compare/kernel_forms.c \
	lib/ext2fs/compare/kernel_groups.c \
	lib/ext2fs/compare/kernel_index.c \
	lib/ext2fs/compare/kernel_lists.c \
	lib/ext2fs/compare/kernel_pending.c \
	lib/ext2fs/compare/kernel_small.c \
	lib/ext2fs/compare/kernel_sweep.c \
	lib/ext2fs/compare/kernel_walk.c \
	lib/ext2fs/compare/orphan_slots_locked.c \
	lib/ext2fs/compare/own_library.c \
	lib/ext2fs/compare/own_policy.c \
	lib/ext2fs/compare/policies.c \
	lib/ext2fs/compare/tunables.c
