# SPDX-License-Identifier: GPL-2.0-or-later
update_sources := \
	lib/update/apply/apply.c \
	lib/update/apply/copying.c \
	lib/update/apply/names.c \
	lib/update/apply/new_inode.c \
	lib/update/apply/placing.c \
	lib/update/apply/sealing.c \
	lib/update/build/actions.c \
	lib/update/build/plain_path.c \
	lib/update/build/xattr_list.c \
	lib/update/carry_out.c \
	lib/update/compare/compare.c \
	lib/update/compare/comparison.c \
	lib/update/compare/decide.c \
	lib/update/compare/find.c \
	lib/update/compare/folded_names.c \
	lib/update/compare/inode_map.c \
	lib/update/compare/linked_files.c \
	lib/update/compare/removals.c \
	lib/update/compare/same_bytes.c \
	lib/update/compare/sameness.c \
	lib/update/compare/storable.c \
	lib/update/directory/directory_editor.c \
	lib/update/directory/editor_blocks.c \
	lib/update/directory/editor_index.c \
	lib/update/directory/editor_inline.c \
	lib/update/directory/editor_map.c \
	lib/update/directory/editor_names.c \
	lib/update/directory/editor_split.c \
	lib/update/target/against.c \
	lib/update/target/examine.c \
	lib/update/target/filesystem.c \
	lib/update/target/free_extents.c \
	lib/update/target/need.c \
	lib/update/target/working_copy.c \
	lib/update/update.c
