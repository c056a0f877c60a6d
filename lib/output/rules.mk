# SPDX-License-Identifier: GPL-2.0-or-later
output_sources := \
	lib/output/dm_verity_tree.c \
	lib/output/image_sink.c \
	lib/output/leaf_hashes.c \
	lib/output/output.c \
	lib/output/temporary_file.c
