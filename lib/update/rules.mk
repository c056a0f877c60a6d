# SPDX-License-Identifier: GPL-2.0-or-later
update_sources := \
	lib/update/directory/directory_editor.c \
	lib/update/directory/editor_blocks.c \
	lib/update/directory/editor_index.c \
	lib/update/directory/editor_inline.c \
	lib/update/directory/editor_map.c \
	lib/update/directory/editor_names.c \
	lib/update/directory/editor_split.c
