// SPDX-License-Identifier: GPL-2.0-or-later
/* Bar charts in SVG, for light and dark pages, without scripts or fonts of their own. */
#include "simulate/overview/overview_charts.h"

#include <errno.h>
#include <string.h>

#include "populate/output/output.h"
#include "support/io/whole_io.h"
#include "support/text/markup.h"
#include "support/vector.h"

#define TEXT_BYTES 64

struct bar {
	char group[TEXT_BYTES]; /* a headline where it changes; "": none */
	char label[TEXT_BYTES];
	unsigned int color; /* bars of the same number look alike */
	double value;       /* not negative */
	char text[TEXT_BYTES];
};

struct drawing {
	const struct overview_chart *chart;
	const struct simulate_options *options;
	const struct measurement *measurements;
	struct bar *bars; /* owned */
	size_t count, capacity;
};

/* --- Which bars there are ------------------------------------------------------------------------------------ */

/* 1234567 as "1 234 567"; small ones with their decimals. */
static void print_number(const struct result_value *value, char text[TEXT_BYTES])
{
	char plain[RESULT_TEXT_BYTES];
	size_t digits, used = 0;

	result_format(value, plain);
	digits = strcspn(plain, ".");
	for (size_t index = 0; plain[index] && used + 2 < TEXT_BYTES; index++) {
		if (index && index < digits && (digits - index) % 3 == 0)
			text[used++] = ' ';
		text[used++] = plain[index];
	}
	text[used] = '\0';
}

static errcode_t add_bar(struct drawing *drawing, const char *group, size_t row, const struct result_value *value)
{
	errcode_t error =
		vector_reserve(&drawing->bars, &drawing->capacity, drawing->count + 1, sizeof(*drawing->bars));

	if (error)
		return error;
	struct bar *bar = &drawing->bars[drawing->count++];
	size_t rows = drawing->options->configuration_count;

	*bar = (struct bar){ .value = value->value, .color = 2 };
	snprintf(bar->group, sizeof(bar->group), "%s", group);
	snprintf(bar->label, sizeof(bar->label), "%s", drawing->options->configurations[row].name);
	print_number(value, bar->text);
	/* Colors are for what comes again in each group; where nothing does, the last, ours, stands out. */
	if (drawing->chart->has_two_kinds)
		bar->color = (unsigned int)(row < rows / 2 ? row : 3 + row - rows / 2);
	else if (*group)
		bar->color = (unsigned int)row;
	else if (row + 1 < rows)
		bar->color = 0;
	return 0;
}

/* Sections are groups, in the order in which they come; a value without any is in none. */
static errcode_t add_sections(struct drawing *drawing, size_t column, const char *group)
{
	const struct simulate_options *options = drawing->options;
	const struct result *first = &drawing->measurements[column].result;

	for (unsigned int number = 0; number < first->count; number++) {
		const char *section = first->values[number].section, *key = first->values[number].key;

		if (strcmp(key, drawing->chart->key) != 0)
			continue;
		for (size_t row = 0; row < options->configuration_count; row++) {
			const struct measurement *measurement =
				&drawing->measurements[row * options->thread_count + column];
			const struct result_value *value = result_find(&measurement->result, section, key);
			errcode_t error = value ? add_bar(drawing, section ? section : group, row, value) : 0;

			if (error)
				return error;
		}
	}
	return 0;
}

/* The column with the most threads that have a processor each. */
static size_t online_column(const struct simulate_options *options)
{
	size_t best = 0;

	for (size_t column = 0; column < options->thread_count; column++)
		if (options->threads[column] <= options->online_processors)
			best = column;
	return best;
}

static errcode_t collect(struct drawing *drawing)
{
	const struct simulate_options *options = drawing->options;
	errcode_t error = 0;

	if (drawing->chart->is_online)
		return add_sections(drawing, online_column(options), "");
	for (size_t column = 0; !error && column < options->thread_count; column++) {
		char group[TEXT_BYTES] = "";

		if (options->thread_count > 1)
			snprintf(group, sizeof(group), "%u thread%s", options->threads[column],
			         options->threads[column] == 1 ? "" : "s");
		error = add_sections(drawing, column, group);
	}
	return error;
}

/* --- How they look ------------------------------------------------------------------------------------------- */

#define WIDTH 760
#define LEFT 190        /* labels end here */
#define LONGEST_BAR 440 /* the value stands after it */
#define BAR_HEIGHT 16
#define ROW_HEIGHT 21
#define GROUP_HEIGHT 30
#define TOP 52
#define COLORS 6

/* Told apart by those who do not see all colors, too (Okabe and Ito), and lighter ones where the page is dark. */
static const char style[] =
	"<style>\n"
	"text{font:13px system-ui,sans-serif;fill:#222}\n"
	".title{font-weight:600;font-size:15px}.small{font-size:11px;fill:#666}.group{font-weight:600}\n"
	".c0{fill:#7f7f7f}.c1{fill:#e69f00}.c2{fill:#0072b2}.c3{fill:#b9b9b9}.c4{fill:#f0c96c}.c5{fill:#6fb3d9}\n"
	"@media (prefers-color-scheme:dark){text{fill:#ddd}.small{fill:#999}\n"
	".c0{fill:#9a9a9a}.c1{fill:#f0b429}.c2{fill:#56b4e9}.c3{fill:#666}.c4{fill:#8f6f1f}.c5{fill:#2f6d94}}\n"
	"</style>\n";

static void put_text(FILE *stream, int x, int y, const char *attributes, const char *text)
{
	fprintf(stream, "<text x=\"%d\" y=\"%d\"%s>", x, y, attributes);
	markup_print(text, strlen(text), stream);
	fputs("</text>\n", stream);
}

static double larger(double one, double other)
{
	return one > other ? one : other;
}

/* log2(1 + value), straight between powers of two: the difference cannot be seen, and no libm is needed. */
static double extent_of(const struct overview_chart *chart, double value)
{
	double powers = 0;

	if (!chart->is_logarithmic)
		return value;
	for (value += 1; value >= 2; value /= 2)
		powers++;
	return powers + value - 1;
}

static bool begins_group(const struct drawing *drawing, size_t bar)
{
	const char *group = drawing->bars[bar].group;

	return *group && (!bar || strcmp(group, drawing->bars[bar - 1].group) != 0);
}

static void put_bars(FILE *stream, const struct drawing *drawing)
{
	double most = 0;
	int y = TOP;

	for (size_t index = 0; index < drawing->count; index++)
		most = larger(most, extent_of(drawing->chart, drawing->bars[index].value));
	for (size_t index = 0; index < drawing->count; index++) {
		const struct bar *bar = &drawing->bars[index];
		double length = most > 0 ? extent_of(drawing->chart, bar->value) / most * LONGEST_BAR : 0;

		if (begins_group(drawing, index)) {
			put_text(stream, 16, y + GROUP_HEIGHT - 10, " class=\"group\"", bar->group);
			y += GROUP_HEIGHT;
		}
		put_text(stream, LEFT - 8, y + 12, " text-anchor=\"end\"", bar->label);
		fprintf(stream, "<rect class=\"c%u\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
		        bar->color % COLORS, LEFT, y, larger(length, 1), BAR_HEIGHT);
		put_text(stream, LEFT + (int)length + 8, y + 12, "", bar->text);
		y += ROW_HEIGHT;
	}
}

static errcode_t draw(void *context, FILE *stream)
{
	const struct drawing *drawing = context;
	const struct overview_chart *chart = drawing->chart;
	int height = TOP + 12;

	for (size_t index = 0; index < drawing->count; index++)
		height += ROW_HEIGHT + (begins_group(drawing, index) ? GROUP_HEIGHT : 0);
	fprintf(stream,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
	        "role=\"img\">\n<title>",
	        WIDTH, height, WIDTH, height);
	markup_print(chart->title, strlen(chart->title), stream);
	fprintf(stream, "</title>\n%s", style);
	put_text(stream, 16, 24, " class=\"title\"", chart->title);
	if (chart->is_logarithmic)
		put_text(stream, 16, 40, " class=\"small\"", "logarithmic scale");
	put_bars(stream, drawing);
	fputs("</svg>\n", stream);
	return flush_output(stream);
}

errcode_t overview_chart_write(const char *directory, const struct overview_chart *chart,
                               const struct simulate_options *options, const struct measurement *measurements,
                               struct problem *problem)
{
	struct drawing drawing = { .chart = chart, .options = options, .measurements = measurements };
	SCOPE_FREE char *path = NULL;

	if (asprintf(&path, "%s/allocsim-%s.svg", directory, chart->name) < 0)
		return problem_set(problem, ENOMEM, directory, "cannot write a chart");
	errcode_t error = collect(&drawing);

	if (error)
		problem_set(problem, error, path, "cannot write a chart");
	else
		error = text_file_write(path, draw, &drawing, "cannot write a chart", problem);
	free(drawing.bars);
	return error;
}
