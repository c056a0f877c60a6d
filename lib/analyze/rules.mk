# SPDX-License-Identifier: GPL-2.0-or-later
analyze_sources := \
	lib/analyze/analyze.c \
	lib/analyze/by_directory.c \
	lib/analyze/damage.c \
	lib/analyze/directory_walk.c \
	lib/analyze/figures.c \
	lib/analyze/file_extents.c \
	lib/analyze/form_compare.c \
	lib/analyze/form_e2freefrag.c \
	lib/analyze/form_e4defrag.c \
	lib/analyze/form_html.c \
	lib/analyze/form_json.c \
	lib/analyze/form_text.c \
	lib/analyze/free_space.c \
	lib/analyze/inode_scan.c \
	lib/analyze/layout.c \
	lib/analyze/map_walk.c \
	lib/analyze/paths.c \
	lib/analyze/report.c \
	lib/analyze/saved_report.c \
	lib/analyze/scan_worker.c \
	lib/analyze/score.c \
	lib/analyze/target.c \
	lib/analyze/unlink.c \
	lib/analyze/verdict.c \
	lib/analyze/volume.c \
	lib/analyze/worst.c
# What pages are made of: each becomes a string, page_css and so on.
analyze_texts := lib/analyze/page.css lib/analyze/page.html lib/analyze/page.js
