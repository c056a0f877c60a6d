# SPDX-License-Identifier: GPL-2.0-or-later
extract_sources := \
	lib/extract/directory_contents.c \
	lib/extract/directory_metadata.c \
	lib/extract/directory_output.c \
	lib/extract/directory_place.c \
	lib/extract/extract.c \
	lib/extract/extraction.c \
	lib/extract/in_order.c \
	lib/extract/list_output.c \
	lib/extract/loaded.c \
	lib/extract/losses.c \
	lib/extract/mtree_output.c \
	lib/extract/name_files.c \
	lib/extract/output_sink.c \
	lib/extract/pieces.c \
	lib/extract/selection.c \
	lib/extract/tar_acl.c \
	lib/extract/tar_header.c \
	lib/extract/tar_output.c \
	lib/extract/tar_packer.c \
	lib/extract/tar_xattr.c
