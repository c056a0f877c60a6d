# SPDX-License-Identifier: GPL-2.0-or-later
analyze_sources := \
	lib/analyze/layout.c \
	lib/analyze/report.c \
	lib/analyze/score.c
