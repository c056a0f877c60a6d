# SPDX-License-Identifier: GPL-2.0-or-later
tree_sources := \
	lib/tree/contents.c \
	lib/tree/details.c \
	lib/tree/entry_numbers.c \
	lib/tree/exclude.c \
	lib/tree/file_flags.c \
	lib/tree/name_table.c \
	lib/tree/node_order.c \
	lib/tree/push_down.c \
	lib/tree/source_limits.c \
	lib/tree/tree.c \
	lib/tree/tree_builder.c \
	lib/tree/verity.c \
	lib/tree/xattr_table.c
