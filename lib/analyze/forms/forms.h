/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The forms in which a report is shown, each made from the report alone. What goes wrong in writing is kept by the
 * stream, for its owner to find.
 */
#ifndef ANALYZE_FORMS_H
#define ANALYZE_FORMS_H

#include <stdio.h>

#include "analyze/report/figures.h"
#include "analyze/report/report.h"
#include "support/text/json.h"

/* What of a report there is to show. */
struct form_parts {
	bool free_space;
	bool files;
	bool groups; /* every group's free space; the report has it, and what follows */
	bool by_directory;
	bool unlink;
};

/* For people: at most 80 columns but for paths and mb_groups. Control characters of names are shown as \ooo. */
void form_text(const struct report *report, const struct form_parts *parts, FILE *stream);

/* One object; e2frag(8) describes it. The stream's error. */
MUST_CHECK errcode_t form_json(const struct report *report, const struct form_parts *parts, FILE *stream);

/* The same object as a value in another document. */
void form_json_object(struct json *json, const char *key, const struct report *report, const struct form_parts *parts);

/* As e2freefrag(8) prints it, with right numbers where it is wrong (bigalloc, the number of chunks). */
void form_e2freefrag(const struct report *report, FILE *stream);

/* As e4defrag(8) -c prints it for a whole filesystem. */
void form_e4defrag(const struct report *report, FILE *stream);

/* Two filesystems side by side, for people: how a layout has changed, or which of two builders laid out better. */
void form_compare(const struct figure_values *before, const struct figure_values *after, const struct form_parts *parts,
                  FILE *stream);

/* One of two that are compared: a filesystem's report or, where that is NULL, one that form_json() has written. */
struct compared {
	struct figure_values figures;
	const struct report *report;
	const char *saved; /* its text */
};

/* One object with `before`, `after` (each as form_json() has it) and `change`. The stream's error. */
MUST_CHECK errcode_t form_compare_json(const struct compared *before, const struct compared *after,
                                       const struct form_parts *parts, FILE *stream);
void form_json_change(struct json *json, const struct figure_values *before, const struct figure_values *after,
                      const struct form_parts *parts);

/*
 * A page that needs nothing else: its style, its script and the reports, whose groups' free space is there. after: NULL
 * but for comparisons. Errors: ENOMEM, the stream's.
 */
MUST_CHECK errcode_t form_html(const struct report *before, const struct report *after, const struct form_parts *parts,
                               FILE *stream);

/* A line for each piece of damage that is kept, with `indent` in front, and one that says how many more there are. */
void form_damage(const struct report *report, const char *indent, FILE *stream);

#endif
