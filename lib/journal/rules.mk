# SPDX-License-Identifier: LGPL-2.1-or-later
journal_sources := \
	lib/journal/journal_log.c \
	lib/journal/journal_overlay.c \
	lib/journal/journal_scan.c
