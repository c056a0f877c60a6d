/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/report/figures.h"
#include "analyze/forms/forms.h"
#include "support/io/whole_io.h"
#include "support/utf8.h"

static bool is_shown(const struct figure *figure, const struct form_parts *parts)
{
	return figure->is_of_files ? parts->files : parts->free_space;
}

static void print_figures(const struct figure_values *first, const struct figure_values *second,
                          const struct form_parts *parts, FILE *stream)
{
	for (size_t n = 0; n < FIGURE_COUNT; n++) {
		const struct figure *figure = &figures[n];

		if (!is_shown(figure, parts))
			continue;
		double before = first->values[n], after = second->values[n];
		int decimals = (int)figure->decimals;

		fprintf(stream, "  %-28s %15.*f %15.*f", figure->name, decimals, before, decimals, after);
		if (before > 0)
			fprintf(stream, " %+9.1f%%", 100 * (after - before) / before);
		else if (after > 0)
			fprintf(stream, " %10s", "new");
		fputc('\n', stream);
	}
}

static void print_name(const char *title, const struct figure_values *values, FILE *stream)
{
	fprintf(stream, "%s: ", title);
	utf8_print(values->target, stream);
	if (values->damage_count)
		fprintf(stream, " (%" PRIu64 " pieces of it cannot be read)", values->damage_count);
	fputc('\n', stream);
	if (values->verdict) {
		fputs("        verdict: ", stream);
		utf8_print(values->verdict, stream);
		fputc('\n', stream);
	}
}

errcode_t form_compare(const struct compared *before, const struct compared *after, const struct form_parts *parts,
                       FILE *stream)
{
	print_name("first ", &before->figures, stream);
	print_name("second", &after->figures, stream);
	fprintf(stream, "\n  %-28s %15s %15s %10s\n", "", "first", "second", "change");
	print_figures(&before->figures, &after->figures, parts, stream);
	return flush_output(stream);
}

void form_json_change(struct json *json, const struct figure_values *before, const struct figure_values *after,
                      const struct form_parts *parts)
{
	static const char *const wishes[] = { "any", "low", "high" };

	json_open_object(json, "change");
	for (size_t n = 0; n < FIGURE_COUNT; n++) {
		const struct figure *figure = &figures[n];

		if (!is_shown(figure, parts))
			continue;
		double first = before->values[n], second = after->values[n];

		json_row(json, figure->key, JSON_TEXT("name", figure->name), JSON_TEXT("better", wishes[figure->wish]),
		         JSON_NUMBER("before", first, figure->decimals), JSON_NUMBER("after", second, figure->decimals),
		         JSON_NUMBER("difference", second - first, figure->decimals),
		         JSON_NUMBER("percent", first > 0 ? 100 * (second - first) / first : NAN, 1));
	}
	json_close_object(json);
}

static void write_compared(struct json *json, const char *key, const struct compared *compared,
                           const struct form_parts *parts)
{
	if (compared->report)
		form_json_object(json, key, compared->report, parts);
	else
		json_document(json, key, compared->saved);
}

errcode_t form_compare_json(const struct compared *before, const struct compared *after, const struct form_parts *parts,
                            FILE *stream)
{
	struct json json = { .stream = stream };

	json_open_object(&json, NULL);
	write_compared(&json, "before", before, parts);
	write_compared(&json, "after", after, parts);
	form_json_change(&json, &before->figures, &after->figures, parts);
	json_close_object(&json);
	return json_end(&json);
}
