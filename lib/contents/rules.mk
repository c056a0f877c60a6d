# SPDX-License-Identifier: GPL-2.0-or-later
contents_sources := \
	lib/contents/block_runs.c \
	lib/contents/protect.c \
	lib/contents/protection.c \
	lib/contents/zero_detection.c
