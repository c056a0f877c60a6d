# SPDX-License-Identifier: GPL-2.0-or-later
source_sources := \
	lib/source/account_names.c \
	lib/source/archive_contents.c \
	lib/source/archive_input.c \
	lib/source/archive_member.c \
	lib/source/archive_source.c \
	lib/source/archive_spool.c \
	lib/source/archive_xattrs.c \
	lib/source/builder_number.c \
	lib/source/content_reader.c \
	lib/source/descend.c \
	lib/source/directory_reader.c \
	lib/source/directory_source.c \
	lib/source/exclude.c \
	lib/source/host_xattrs.c \
	lib/source/marks.c \
	lib/source/merge.c \
	lib/source/metadata.c \
	lib/source/metadata_additions.c \
	lib/source/mtree.c \
	lib/source/mtree_keywords.c \
	lib/source/oci_blob.c \
	lib/source/oci_image.c \
	lib/source/owner_map.c \
	lib/source/owner_text.c \
	lib/source/owner_xattrs.c \
	lib/source/path_text.c \
	lib/source/scan_entry.c \
	lib/source/scan_listing.c \
	lib/source/scan_number.c \
	lib/source/source.c \
	lib/source/sources.c \
	lib/source/tree.c \
	lib/source/tree_builder.c \
	lib/source/tree_check.c \
	lib/source/xattr_sets.c \
	lib/source/xattr_table.c
