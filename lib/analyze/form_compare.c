/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/figures.h"
#include "analyze/forms.h"
#include "support/utf8.h"

struct form {
	const struct report *before, *after;
	FILE *stream;
};

static bool is_shown(const struct figure *figure, const struct form_parts *parts)
{
	return figure->is_of_files ? parts->files : parts->free_space;
}

static void print_figures(const struct form *form, const struct form_parts *parts)
{
	for (size_t n = 0; n < figure_count; n++) {
		const struct figure *figure = &figures[n];

		if (!is_shown(figure, parts))
			continue;
		double before = figure->value(form->before), after = figure->value(form->after);
		int decimals = (int)figure->decimals;

		fprintf(form->stream, "  %-28s %15.*f %15.*f", figure->name, decimals, before, decimals, after);
		if (before > 0)
			fprintf(form->stream, " %+9.1f%%", 100 * (after - before) / before);
		else if (after > 0)
			fprintf(form->stream, " %10s", "new");
		fputc('\n', form->stream);
	}
}

static void print_name(const struct form *form, const char *title, const struct report *report)
{
	SCOPE_FREE char *shown = utf8_printable(report->filesystem.target, strlen(report->filesystem.target));

	fprintf(form->stream, "%s: %s", title, shown ? shown : "?");
	if (report->damage_count)
		fprintf(form->stream, " (%" PRIu64 " pieces of it cannot be read)", report->damage_count);
	fputc('\n', form->stream);
}

void form_compare(const struct report *before, const struct report *after, const struct form_parts *parts, FILE *stream)
{
	struct form form = { before, after, stream };

	print_name(&form, "first ", before);
	print_name(&form, "second", after);
	fprintf(stream, "\n  %-28s %15s %15s %10s\n", "", "first", "second", "change");
	print_figures(&form, parts);
}

void form_json_change(struct json *json, const struct report *before, const struct report *after,
                      const struct form_parts *parts)
{
	static const char *const wishes[] = { "any", "low", "high" };

	json_open_object(json, "change");
	for (size_t n = 0; n < figure_count; n++) {
		const struct figure *figure = &figures[n];

		if (!is_shown(figure, parts))
			continue;
		double first = figure->value(before), second = figure->value(after);

		json_open_row(json, figure->key);
		json_string(json, "name", figure->name);
		json_string(json, "better", wishes[figure->wish]);
		json_number(json, "before", first, figure->decimals);
		json_number(json, "after", second, figure->decimals);
		json_number(json, "difference", second - first, figure->decimals);
		json_number(json, "percent", first > 0 ? 100 * (second - first) / first : NAN, 1);
		json_close_object(json);
	}
	json_close_object(json);
}

errcode_t form_compare_json(const struct report *before, const struct report *after, const struct form_parts *parts,
                            FILE *stream)
{
	struct json json = { .stream = stream };

	json_open_object(&json, NULL);
	form_json_object(&json, "before", before, parts);
	form_json_object(&json, "after", after, parts);
	form_json_change(&json, before, after, parts);
	json_close_object(&json);
	return json_end(&json);
}
