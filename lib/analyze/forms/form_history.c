/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/form_history.h"

#include <string.h>
#include <time.h>

#include "analyze/report/verdict.h"
#include "support/text/units.h"
#include "support/utf8.h"

#define TIME_BYTES sizeof("2026-11-26 03:41")

static double value_of(const struct figure_values *values, const char *key)
{
	return values->values[figures_find(key)];
}

static struct units_text size_of(const struct figure_values *values, const char *key)
{
	return units_bytes((uint64_t)(value_of(values, key) * 1024));
}

/* A saved report may have any words: ours are shown. */
static const char *known_words(const char *words)
{
	for (unsigned int kind = 0; words && kind < VERDICT_KINDS; kind++)
		if (!strcmp(words, verdict_words(kind)))
			return words;
	return "";
}

static void print_row(const char *when, const struct figure_values *values, const char *path,
                      const struct form_parts *parts, FILE *stream)
{
	const char *words = known_words(values->verdict);

	fprintf(stream, "  %-16s", when);
	if (parts->files)
		fprintf(stream, " %5.0f %14.3f", value_of(values, "score"), value_of(values, "avg_extents"));
	if (parts->free_space)
		fprintf(stream, " %10s %10s", size_of(values, "free_kb").text,
		        size_of(values, "free_weighted_median_kb").text);
	/* "fine, many small files in two pieces" is fine. */
	fprintf(stream, "  %-*.*s", path ? 16 : 0, (int)strcspn(words, ","), words);
	if (path) {
		fputs("  ", stream);
		utf8_print(path, stream);
	}
	fputc('\n', stream);
}

static void print_change(const struct figure_values *first, const struct figure_values *last,
                         const struct form_parts *parts, FILE *stream)
{
	fprintf(stream, "  %-16s", "change");
	if (parts->files)
		fprintf(stream, " %+5.0f %+14.3f", value_of(last, "score") - value_of(first, "score"),
		        value_of(last, "avg_extents") - value_of(first, "avg_extents"));
	for (unsigned int n = 0; parts->free_space && n < 2; n++) {
		const char *key = n ? "free_weighted_median_kb" : "free_kb";
		double before = value_of(first, key), after = value_of(last, key);

		if (before > 0)
			fprintf(stream, " %+9.1f%%", 100 * (after - before) / before);
		else
			fprintf(stream, " %10s", after > 0 ? "new" : "");
	}
	fputc('\n', stream);
}

void form_history_text(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	const struct report_history *history = report->history;
	struct figure_values present;

	figures_compute(report, &present);
	fprintf(stream, "\nHISTORY\n  %-16s", "written");
	if (parts->files)
		fprintf(stream, " %5s %14s", "score", "extents a file");
	if (parts->free_space)
		fprintf(stream, " %10s %10s", "free", "half in");
	fprintf(stream, "  %-16s  %s\n", "verdict", "report");
	for (size_t n = 0; n < history->count; n++) {
		const struct history_entry *entry = &history->entries[n];
		time_t time = (time_t)entry->time;
		char when[TIME_BYTES] = "";
		struct tm parts_of_time;

		if (localtime_r(&time, &parts_of_time))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &parts_of_time);
		print_row(when, &entry->figures, entry->path, parts, stream);
	}
	print_row("now", &present, NULL, parts, stream);
	if (history->count)
		print_change(&history->entries[0].figures, &present, parts, stream);
}

static void write_entry(struct json *json, const char *path, const char *when, const struct figure_values *values,
                        const struct form_parts *parts)
{
	json_open_row(json, NULL);
	json_string(json, "path", path);
	json_string(json, "time", when);
	json_string(json, "verdict", values->verdict);
	for (size_t n = 0; n < FIGURE_COUNT; n++)
		if (figures[n].is_of_files ? parts->files : parts->free_space)
			json_number(json, figures[n].key, values->values[n], figures[n].decimals);
	json_close_object(json);
}

void form_history_json(struct json *json, const struct report *report, const struct form_parts *parts)
{
	const struct report_history *history = report->history;
	struct figure_values present;

	figures_compute(report, &present);
	json_open_array(json, "history");
	for (size_t n = 0; n < history->count; n++) {
		time_t time = (time_t)history->entries[n].time;
		char when[sizeof("2026-11-26T03:41:00Z")] = "";
		struct tm parts_of_time;

		if (gmtime_r(&time, &parts_of_time))
			strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts_of_time);
		write_entry(json, history->entries[n].path, when, &history->entries[n].figures, parts);
	}
	write_entry(json, NULL, NULL, &present, parts);
	json_close_array(json);
}
