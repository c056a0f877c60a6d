# SPDX-License-Identifier: GPL-2.0-or-later
unpack_sources := \
	lib/unpack/archive_packer.c \
	lib/unpack/decoder.c \
	lib/unpack/gzip.c \
	lib/unpack/inflate.c \
	lib/unpack/packed_reader.c \
	lib/unpack/packing.c \
	lib/unpack/sparse_file.c \
	lib/unpack/spool_directory.c \
	lib/unpack/unpack_stream.c \
	lib/unpack/unpacked_store.c \
	lib/unpack/window_budget.c \
	lib/unpack/xz.c \
	lib/unpack/zstd.c
