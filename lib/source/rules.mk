# SPDX-License-Identifier: GPL-2.0-or-later
source_sources := \
	lib/source/archive/archive_acl.c \
	lib/source/archive/archive_contents.c \
	lib/source/archive/archive_header.c \
	lib/source/archive/archive_input.c \
	lib/source/archive/archive_kind.c \
	lib/source/archive/archive_member.c \
	lib/source/archive/archive_source.c \
	lib/source/host/content_reader.c \
	lib/source/host/data_segments.c \
	lib/source/host/directory_scan.c \
	lib/source/host/directory_source.c \
	lib/source/host/host_xattrs.c \
	lib/source/host/open_below.c \
	lib/source/host/projects.c \
	lib/source/layers/merge.c \
	lib/source/layers/oci_image.c \
	lib/source/layers/whiteouts.c \
	lib/source/manifest/manifest_source.c \
	lib/source/manifest/metadata.c \
	lib/source/mtree/digests.c \
	lib/source/mtree/mtree.c \
	lib/source/mtree/mtree_keywords.c \
	lib/source/owners/account_names.c \
	lib/source/owners/owner_apply.c \
	lib/source/owners/owner_map.c \
	lib/source/sources.c \
	lib/source/tree/exclude.c \
	lib/source/tree/file_flags.c \
	lib/source/tree/source_kind.c \
	lib/source/tree/tree.c \
	lib/source/tree/tree_builder.c \
	lib/source/tree/xattr_table.c
