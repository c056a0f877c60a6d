# SPDX-License-Identifier: GPL-2.0-or-later
source_sources := \
	lib/source/directory_reader.c \
	lib/source/directory_source.c \
	lib/source/tree.c
