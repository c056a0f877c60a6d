# SPDX-License-Identifier: GPL-2.0-or-later
analyze_sources := \
	lib/analyze/analyze.c \
	lib/analyze/directories/directory_totals.c \
	lib/analyze/directories/unlink_cost.c \
	lib/analyze/forms/form_all.c \
	lib/analyze/forms/form_compare.c \
	lib/analyze/forms/form_delta.c \
	lib/analyze/forms/form_history.c \
	lib/analyze/forms/form_html.c \
	lib/analyze/forms/form_json.c \
	lib/analyze/forms/form_list.c \
	lib/analyze/forms/form_openmetrics.c \
	lib/analyze/forms/form_text.c \
	lib/analyze/forms/forms.c \
	lib/analyze/forms/page.c \
	lib/analyze/forms/saved_report.c \
	lib/analyze/read/deletion.c \
	lib/analyze/read/filesystem.c \
	lib/analyze/read/free_space.c \
	lib/analyze/read/inode_counts.c \
	lib/analyze/read/inode_scan.c \
	lib/analyze/read/map_files.c \
	lib/analyze/read/paths.c \
	lib/analyze/report/figures.c \
	lib/analyze/report/layout.c \
	lib/analyze/report/report.c \
	lib/analyze/report/score.c \
	lib/analyze/report/verdict.c \
# Texts of pages: each becomes a string, page_css and so on.
analyze_texts := lib/analyze/forms/page.css lib/analyze/forms/page_dark.css lib/analyze/forms/page.html \
	lib/analyze/forms/page.js
