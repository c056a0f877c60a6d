/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The forms in which a report is shown, each made from the report alone.
 *
 * A new one: a file of its own with what it can show, its prototypes below, a line in ../rules.mk, a row of forms[] in
 * forms.c, a word in misc/e2frag.8, and lines of tests/frag-options/expect and tests/completion/expect. e2frag
 * --format= knows it then, and refuses what it has no function for. Parts that a form has no place for (--groups in
 * e4defrag's) are left out.
 */
#pragma once

#include <stdio.h>

#include "image/volume.h"
#include "analyze/report/figures.h"
#include "support/text/json.h"

/* What of a report there is to show. */
struct form_parts {
	bool free_space;
	bool files;
	bool groups; /* every group's free space; the report has it, and what follows */
	bool by_directory;
	bool unlink;
};

/* One of two that are compared: a filesystem's report or, where that is NULL, one that form_json() has written. */
struct compared {
	struct figure_values figures;
	const struct report *report;
	const char *saved; /* its text */
};

struct report_form {
	const char *name; /* for --format= */
	bool has_free_space, has_files;

	/* A whole filesystem, of which parts says what to show. The stream's error. */
	errcode_t (*print)(const struct report *report, const struct form_parts *parts, FILE *stream);

	/* One file; see file_extents_print(). Errors of the stream are found when it is flushed. */
	errcode_t (*print_file)(const struct volume *volume, uint32_t ino, const char *name, bool with_rows,
	                        struct damage_list *damage, FILE *stream);

	/* Two filesystems side by side: how a layout has changed, or which builder did better. The stream's error. */
	errcode_t (*compare)(const struct compared *before, const struct compared *after,
	                     const struct form_parts *parts, FILE *stream);
};

/* The form of this index; NULL after the last one. */
const struct report_form *form_get(unsigned int index);

/* For people: at most 80 columns but for paths and mb_groups. Control characters of names are shown as \ooo. */
MUST_CHECK errcode_t form_text(const struct report *report, const struct form_parts *parts, FILE *stream);
MUST_CHECK errcode_t form_compare(const struct compared *before, const struct compared *after,
                                  const struct form_parts *parts, FILE *stream);

/* One object; e2frag(8) describes it. */
MUST_CHECK errcode_t form_json(const struct report *report, const struct form_parts *parts, FILE *stream);

/* One object with `before`, `after` (each as form_json() has it) and `change`. */
MUST_CHECK errcode_t form_compare_json(const struct compared *before, const struct compared *after,
                                       const struct form_parts *parts, FILE *stream);

/*
 * One file's extents, as filefrag(8) shows them, written to stream as they are read: with a row for each record of the
 * map, or only how many extents there are. name: how to call the file. What cannot be read is damage. Errors:
 * EXT2_ET_BAD_INODE_NUM, ENOENT (not in use), ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t file_extents_print(const struct volume *volume, uint32_t ino, const char *name, bool with_rows,
                                        struct damage_list *damage, FILE *stream);

/* For node_exporter's textfile collector: text that is OpenMetrics, and what Prometheus read before it. */
MUST_CHECK errcode_t form_openmetrics(const struct report *report, const struct form_parts *parts, FILE *stream);

/*
 * A page that needs nothing else: its style, its script and the reports, whose groups' free space is there. after: NULL
 * but for comparisons. Errors: ENOMEM, the stream's.
 */
MUST_CHECK errcode_t form_html(const struct report *before, const struct report *after, const struct form_parts *parts,
                               FILE *stream);

/* What form_json() and form_compare_json() write, as values in another document. */
void form_json_object(struct json *json, const char *key, const struct report *report, const struct form_parts *parts);
void form_json_change(struct json *json, const struct figure_values *before, const struct figure_values *after,
                      const struct form_parts *parts);

/* A line for each piece of damage that is kept, with `indent` in front, and one that says how many more there are. */
void form_damage(const struct report *report, const char *indent, FILE *stream);
