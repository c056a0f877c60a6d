/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "analyze/forms/forms.h"
#include "analyze/forms/page.h"
#include "support/io/whole_io.h"
#include "support/text/markup.h"

extern const char page_html[], page_js[];

struct form {
	const struct report *before, *after;
	const struct form_parts *parts;
	FILE *stream;
	struct compared compared[2]; /* both */
};

/* Writes rows of numbers without keys, because there may be thousands: free blocks, free extents, the largest extent,
 * all blocks. */
static void write_cell(struct json *json, const struct report *report, uint32_t from, uint32_t to)
{
	const struct report_filesystem *filesystem = &report->filesystem;
	uint64_t free_clusters = 0, extents = 0, largest = 0, unreadable = 0;
	uint64_t start = (uint64_t)from * filesystem->blocks_per_group;
	uint64_t end = (uint64_t)to * filesystem->blocks_per_group;
	uint64_t all = filesystem->blocks - filesystem->first_block;

	for (uint32_t number = from; number < to; number++) {
		const struct report_group *group = &report->free.groups[number];

		free_clusters += group->free_clusters;
		extents += group->fragments;
		largest = group->largest_clusters > largest ? group->largest_clusters : largest;
		unreadable += group->is_unreadable;
	}
	json_open_array(json, NULL);
	json_members(json, JSON_COUNT(NULL, free_clusters * filesystem->cluster_blocks), JSON_COUNT(NULL, extents),
	             JSON_COUNT(NULL, largest * filesystem->cluster_blocks),
	             JSON_COUNT(NULL, (end < all ? end : all) - start), JSON_COUNT(NULL, unreadable));
	json_close_array(json);
}

/* For each cell the files with the most extents in it. */
static void write_map_files(struct json *json, const struct report *report)
{
	json_open_array(json, "files");
	for (uint32_t cell = 0; cell < report->map_cell_count; cell++) {
		const struct report_map_file *most = report->map_cells[cell].most;

		json_open_array(json, NULL);
		for (unsigned int n = 0; n < REPORT_MAP_FILES && most[n].extents; n++)
			json_row(json, NULL, JSON_TEXT("path", most[n].path), JSON_COUNT("inode", most[n].ino),
			         JSON_COUNT("extents", most[n].extents), JSON_COUNT("blocks", most[n].blocks));
		json_close_array(json);
	}
	json_close_array(json);
}

static void write_map(struct json *json, const struct report *report)
{
	uint32_t groups = report->filesystem.groups;
	uint32_t per_cell = report_map_groups(&report->filesystem, PAGE_MOST_CELLS);

	json_open_row(json, "map");
	json_unsigned(json, "groups_per_cell", per_cell);
	json_open_array(json, "cells");
	for (uint32_t from = 0; from < groups; from += per_cell)
		write_cell(json, report, from, groups - from < per_cell ? groups : from + per_cell);
	json_close_array(json);
	if (report->map_cells)
		write_map_files(json, report);
	json_close_object(json);
}

static void write_subject(struct json *json, const struct report *report, const struct form_parts *parts)
{
	json_open_object(json, NULL);
	form_json_object(json, "report", report, parts);
	if (parts->free_space)
		write_map(json, report);
	json_close_object(json);
}

static errcode_t write_reports(const struct form *form)
{
	struct json json = { .stream = form->stream, .is_in_html = true };

	json_open_object(&json, NULL);
	json_open_array(&json, "subjects");
	write_subject(&json, form->before, form->parts);
	if (form->after)
		write_subject(&json, form->after, form->parts);
	json_close_array(&json);
	if (form->after)
		form_json_change(&json, &form->compared[0].figures, &form->compared[1].figures, form->parts);
	json_close_object(&json);
	return json_end(&json);
}

static ssize_t write_escaped(void *context, const char *text, size_t count)
{
	markup_print(text, count, context);
	return (ssize_t)count;
}

/* Writes the text form for browsers without scripts. open_memstream(3) is not used: it loses output when it lacks
 * memory. */
static errcode_t write_plain(const struct form *form)
{
	char buffer[BUFSIZ];
	FILE *escaped = fopencookie(form->stream, "w", (cookie_io_functions_t){ .write = write_escaped });

	if (!escaped)
		return ENOMEM;
	setvbuf(escaped, buffer, _IOFBF, sizeof(buffer));
	errcode_t error = form->after ? form_compare(&form->compared[0], &form->compared[1], form->parts, escaped) :
	                                form_text(form->before, form->parts, escaped);

	return fclose(escaped) && !error ? EIO : error;
}

static errcode_t write_part(void *context, const char *name)
{
	const struct form *form = context;

	if (strcmp(name, "script") == 0)
		fputs(page_js, form->stream);
	else if (strcmp(name, "reports") == 0)
		return write_reports(form);
	else
		return write_plain(form);
	return 0;
}

errcode_t form_html(const struct report *before, const struct report *after, const struct form_parts *parts,
                    FILE *stream)
{
	struct form_parts all = { parts->free_space, parts->files, false, parts->files, parts->files };
	struct form form = { .before = before, .after = after, .parts = &all, .stream = stream };

	if (after) {
		figures_compute(before, &form.compared[0].figures);
		figures_compute(after, &form.compared[1].figures);
	}
	return page_fill(page_html, write_part, &form, stream);
}
