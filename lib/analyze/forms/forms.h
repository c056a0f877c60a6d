/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The forms in which a report is shown, each made from the report alone.
 *
 * A new one needs a file with its functions, their prototypes below, a line in ../rules.mk, a row of report_forms[] in
 * forms.c, a word in misc/e2frag.8, and lines of tests/frag-options/expect and tests/completion/expect. Then e2frag
 * --format= accepts it, and refuses requests for which it has no function. Parts that a form has no place for
 * (--groups in e4defrag's) are left out.
 */
#pragma once

#include <stdio.h>

#include "image/volume.h"
#include "analyze/report/figures.h"
#include "support/text/json.h"

/* The parts of a report to show. */
struct form_parts {
	bool free_space;
	bool files;
	bool groups; /* every group's free space; the report must have each part that is set */
	bool by_directory;
	bool unlink;
};

/* One of two compared reports: a filesystem's or, if that is NULL, one that form_json() has written. */
struct compared {
	struct figure_values figures;
	const struct report *report;
	const char *saved; /* its text */
};

struct report_form {
	const char *name; /* for --format= */
	bool has_free_space, has_files;

	/* Prints the parts of a whole filesystem. Returns the stream's error. */
	errcode_t (*print)(const struct report *report, const struct form_parts *parts, FILE *stream);

	/* Prints one file; see file_extents_print(). Errors of the stream are found when it is flushed. */
	errcode_t (*print_file)(const struct volume *volume, uint32_t ino, const char *name, bool with_rows,
	                        struct damage_list *damage, FILE *stream);

	/* Prints two filesystems side by side: how a layout has changed, or which builder did better. Returns the
	 * stream's error. */
	errcode_t (*compare)(const struct compared *before, const struct compared *after,
	                     const struct form_parts *parts, FILE *stream);

	/* Prints several filesystems, in this order; there may be none, if none could be read. Returns the stream's
	 * error. */
	errcode_t (*print_all)(const struct report *const *reports, size_t count, const struct form_parts *parts,
	                       FILE *stream);
};

/* Ends with a zero row; the first is the default. */
extern const struct report_form report_forms[];

/* Text of at most 80 columns, except for paths and mb_groups. Control characters of names are shown as \ooo. */
MUST_CHECK errcode_t form_text(const struct report *report, const struct form_parts *parts, FILE *stream);
MUST_CHECK errcode_t form_compare(const struct compared *before, const struct compared *after,
                                  const struct form_parts *parts, FILE *stream);

/* One object; e2frag(8) describes it. */
MUST_CHECK errcode_t form_json(const struct report *report, const struct form_parts *parts, FILE *stream);

/* One object with `before`, `after` (each as form_json() writes it) and `change`. */
MUST_CHECK errcode_t form_compare_json(const struct compared *before, const struct compared *after,
                                       const struct form_parts *parts, FILE *stream);

/*
 * Writes one file's extents, as filefrag(8) shows them, to stream while they are read: a row for each record of the
 * map, or only the number of extents. name is the file's name in the output. Parts that cannot be read are damage.
 * Errors: EXT2_ET_BAD_INODE_NUM, ENOENT (not in use), ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t file_extents_print(const struct volume *volume, uint32_t ino, const char *name, bool with_rows,
                                        struct damage_list *damage, FILE *stream);

/* Text for node_exporter's textfile collector, valid as OpenMetrics and as Prometheus' older format. */
MUST_CHECK errcode_t form_openmetrics(const struct report *report, const struct form_parts *parts, FILE *stream);

/* Several: a row of a table for each, an array of form_json()'s objects, samples side by side in each family. */
MUST_CHECK errcode_t form_all_text(const struct report *const *reports, size_t count, const struct form_parts *parts,
                                   FILE *stream);
MUST_CHECK errcode_t form_all_json(const struct report *const *reports, size_t count, const struct form_parts *parts,
                                   FILE *stream);
MUST_CHECK errcode_t form_all_openmetrics(const struct report *const *reports, size_t count,
                                          const struct form_parts *parts, FILE *stream);

/*
 * The paths of the report's worst files, one after the other, for other programs: as they are, each with a NUL byte at
 * its end, or as readers see them, in lines. Files without a name are left out. Returns the stream's error.
 */
MUST_CHECK errcode_t form_list(const struct report *report, bool ends_with_nul, FILE *stream);

/* More cells of a map than a screen can show apart; a larger filesystem has several groups in a cell. */
#define PAGE_MOST_CELLS 4096

/*
 * A self-contained page: style, script and reports, which must have the groups' free space. after is NULL except for
 * comparisons. Errors: ENOMEM, the stream's.
 */
MUST_CHECK errcode_t form_html(const struct report *before, const struct report *after, const struct form_parts *parts,
                               FILE *stream);

/* The objects of form_json() and form_compare_json(), as values in another document. */
void form_json_object(struct json *json, const char *key, const struct report *report, const struct form_parts *parts);
void form_json_change(struct json *json, const struct figure_values *before, const struct figure_values *after,
                      const struct form_parts *parts);

/* Writes a line for each kept piece of damage, with `indent` in front, and one with the number of further pieces. */
void form_damage(const struct report *report, const char *indent, FILE *stream);
