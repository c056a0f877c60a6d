# SPDX-License-Identifier: GPL-2.0-or-later
image_sources := \
	lib/image/journal_log.c \
	lib/image/journal_overlay.c \
	lib/image/journal_scan.c
