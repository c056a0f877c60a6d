# SPDX-License-Identifier: LGPL-2.1-or-later
# Not in the installed library: an archive of its own, before it in the order of linking.
compare_sources := \
	lib/compare/kernel_forms.c \
	lib/compare/kernel_groups.c \
	lib/compare/kernel_index.c \
	lib/compare/kernel_lists.c \
	lib/compare/kernel_pending.c \
	lib/compare/kernel_small.c \
	lib/compare/kernel_sweep.c \
	lib/compare/kernel_walk.c \
	lib/compare/orphan_slots_locked.c \
	lib/compare/user_library.c \
	lib/compare/user_policy.c \
	lib/compare/policies.c \
	lib/compare/tunables.c
