/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bar charts in SVG, for light and dark pages, without scripts or fonts of their own. */
#include "simulate/overview/overview_charts.h"

#include <errno.h>
#include <string.h>

#include "output/output.h"
#include "support/io/whole_io.h"
#include "support/text/markup.h"
#include "support/vector.h"

#define TEXT_BYTES 64

extern const char chart_css[];

/* Classes of chart.css, and their words in the legend. */
static const struct {
	const char *name, *words;
} ways[WAYS] = {
	[WAY_BASE] = { "base", "Linux before the series (base)" },
	[WAY_STEP] = { "step", "with some of a series' patches" },
	[WAY_SERIES] = { "series", "Linux with the series" },
	[WAY_LINUX] = { "linux", "what Linux does before and with the series" },
	[WAY_OTHER] = { "other", "another filesystem's way, or a proposal that Linux has not taken" },
	[WAY_OURS] = { "ours", "ext2mb" },
	[WAY_OURS_IN_PART] = { "ours-in-part", "ext2mb with something left out" },
	[WAY_BOUND] = { "bound", "not done at all, as a bound" },
};

struct bar {
	char group[TEXT_BYTES]; /* a headline, shown when it changes; "": none */
	char label[TEXT_BYTES];
	enum way way;
	bool is_second; /* of the second kind */
	double value;   /* not negative */
	char text[TEXT_BYTES];
};

struct drawing {
	const struct overview_chart *chart;
	const struct simulate_options *options;
	const char *words;
	struct bar *bars; /* owned */
	size_t count, capacity;
	bool is_alone; /* a separate file, which contains its style */
};

/* --- Choosing bars --------------------------------------------------------------------------------------- */

/* Prints 1234567 as "1 234 567"; small numbers with their decimals. */
static void print_number(const struct result_value *value, char text[TEXT_BYTES])
{
	char plain[RESULT_TEXT_BYTES];
	size_t digits, used = 0;

	result_format(value, plain);
	digits = strspn(plain, "0123456789");
	for (size_t index = 0; plain[index] && used + 2 < TEXT_BYTES; index++) {
		if (index && index < digits && (digits - index) % 3 == 0)
			text[used++] = ' ';
		text[used++] = plain[index];
	}
	text[used] = '\0';
}

static errcode_t add_bar(struct drawing *drawing, const char *group, size_t row, const struct result_value *value)
{
	const struct configuration *configuration = &drawing->options->configurations[row];
	struct bar bar = {
		.way = configuration->way,
		.is_second = drawing->chart->has_two_kinds && row >= drawing->options->configuration_count / 2,
		.value = value->value,
	};

	snprintf(bar.group, sizeof(bar.group), "%s", group);
	snprintf(bar.label, sizeof(bar.label), "%s", configuration->name);
	print_number(value, bar.text);
	return vector_add(&drawing->bars, &drawing->count, &drawing->capacity, &bar, sizeof(bar));
}

/* Sections are groups, in their order; a value without a section is in the given group. */
static errcode_t add_sections(struct drawing *drawing, const struct measurement *measurements, size_t column,
                              const char *group)
{
	const struct simulate_options *options = drawing->options;
	const struct result *first = &measurements[column].result;

	for (unsigned int number = 0; number < first->count; number++) {
		const char *section = first->values[number].section, *key = first->values[number].key;

		if (strcmp(key, drawing->chart->key) != 0)
			continue;
		for (size_t row = 0; row < options->configuration_count; row++) {
			const struct measurement *measurement = &measurements[row * options->thread_count + column];
			const struct result_value *value = result_find(&measurement->result, section, key);
			errcode_t error = value ? add_bar(drawing, section ? section : group, row, value) : 0;

			if (error)
				return error;
		}
	}
	return 0;
}

/* Finds the column with the most threads for which there are processors. */
static size_t online_column(const struct simulate_options *options)
{
	size_t best = 0;

	for (size_t column = 0; column < options->thread_count; column++)
		if (options->threads[column] <= options->online_processors)
			best = column;
	return best;
}

static errcode_t collect_disks(struct drawing *drawing, struct measurement *const *on_disk)
{
	errcode_t error = 0;

	/* With sections, disks would be groups of groups; only the table has these. */
	if (!result_find(&on_disk[0]->result, NULL, drawing->chart->key))
		return 0;
	for (unsigned int disk = 0; !error && disk < OVERVIEW_DISKS; disk++)
		error = add_sections(drawing, on_disk[disk], 0, overview_disk_title(disk));
	return error;
}

static errcode_t collect(struct drawing *drawing, const struct chart_subject *subject)
{
	const struct simulate_options *options = drawing->options;
	const struct measurement *measurements = subject->measurements;
	errcode_t error = 0;

	if (!measurements)
		return collect_disks(drawing, subject->on_disk);
	if (drawing->chart->is_online)
		return add_sections(drawing, measurements, online_column(options), "");
	for (size_t column = 0; !error && column < options->thread_count; column++) {
		char group[TEXT_BYTES] = "";

		if (options->thread_count > 1)
			snprintf(group, sizeof(group), "%u thread%s", options->threads[column],
			         options->threads[column] == 1 ? "" : "s");
		error = add_sections(drawing, measurements, column, group);
	}
	return error;
}

/* --- Drawing ---------------------------------------------------------------------------------------------- */

/* So narrow that the letters can still be read on a phone. */
#define WIDTH 480
#define MARGIN 8
#define LEFT 190        /* labels end here */
#define LONGEST_BAR 200 /* the value is written after it */
#define BAR_HEIGHT 16
#define ROW_HEIGHT 21
#define GROUP_HEIGHT 30
#define TITLE_HEIGHT 19 /* of a line, which has so many letters at most: */
#define TITLE_LETTERS 50
#define WORDS_HEIGHT 17
#define WORDS_LETTERS 66

static void put_part(FILE *stream, int x, int y, const char *attributes, const char *text, size_t bytes)
{
	fprintf(stream, "<text x=\"%d\" y=\"%d\"%s>", x, y, attributes);
	markup_print(text, bytes, stream);
	fputs("</text>\n", stream);
}

static void put_text(FILE *stream, int x, int y, const char *attributes, const char *text)
{
	put_part(stream, x, y, attributes, text, strlen(text));
}

/* Returns how much of the text goes into a line of so many letters: whole words. */
static size_t line_bytes(const char *text, size_t letters)
{
	size_t bytes = strlen(text);

	while (bytes > letters) {
		const char *blank = memrchr(text, ' ', bytes);

		if (!blank)
			break;
		bytes = (size_t)(blank - text);
	}
	return bytes;
}

/* Writes the lines of a text below y (no stream: none); returns where the last one ends. */
static int put_lines(FILE *stream, int y, const char *attributes, const char *text, int height, size_t letters)
{
	while (*text) {
		size_t bytes = line_bytes(text, letters);

		y += height;
		if (stream)
			put_part(stream, MARGIN, y, attributes, text, bytes);
		text += bytes + strspn(text + bytes, " ");
	}
	return y;
}

static int put_heading(FILE *stream, const struct drawing *drawing)
{
	int y = put_lines(stream, 4, " class=\"title\"", drawing->chart->title, TITLE_HEIGHT, TITLE_LETTERS);

	return put_lines(stream, y, " class=\"small\"", drawing->words, WORDS_HEIGHT, WORDS_LETTERS);
}

static double larger(double one, double other)
{
	return one > other ? one : other;
}

/* log2(1 + value), linear between powers of two: the difference is invisible, and no libm is needed. */
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

static void put_bars(FILE *stream, int y, const struct drawing *drawing)
{
	double most = 0;

	for (size_t index = 0; index < drawing->count; index++)
		most = larger(most, extent_of(drawing->chart, drawing->bars[index].value));
	for (size_t index = 0; index < drawing->count; index++) {
		const struct bar *bar = &drawing->bars[index];
		double length = most > 0 ? extent_of(drawing->chart, bar->value) / most * LONGEST_BAR : 0;

		if (begins_group(drawing, index)) {
			put_text(stream, MARGIN, y + GROUP_HEIGHT - 10, " class=\"group\"", bar->group);
			y += GROUP_HEIGHT;
		}
		put_text(stream, LEFT - 8, y + 12, " text-anchor=\"end\"", bar->label);
		fprintf(stream, "<rect class=\"%s%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
		        ways[bar->way].name, bar->is_second ? " second" : "", LEFT, y, larger(length, 1), BAR_HEIGHT);
		put_text(stream, LEFT + (int)length + 8, y + 12, "", bar->text);
		y += ROW_HEIGHT;
	}
}

static errcode_t draw(void *context, FILE *stream)
{
	const struct drawing *drawing = context;
	const struct overview_chart *chart = drawing->chart;
	int top = put_heading(NULL, drawing) + 14, height = top + 8;

	for (size_t index = 0; index < drawing->count; index++)
		height += ROW_HEIGHT + (begins_group(drawing, index) ? GROUP_HEIGHT : 0);
	fprintf(stream,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bars\" viewBox=\"0 0 %d %d\" width=\"%d\" "
	        "height=\"%d\" role=\"img\">\n<title>",
	        WIDTH, height, WIDTH, height);
	markup_print(chart->title, strlen(chart->title), stream);
	fputs("</title>\n", stream);
	if (drawing->is_alone)
		fprintf(stream, "<style>\n%s</style>\n<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", chart_css,
		        WIDTH, height);
	put_heading(stream, drawing);
	put_bars(stream, top, drawing);
	fputs("</svg>\n", stream);
	return flush_output(stream);
}

/* Writes the chart into a file, which the Markdown shows. */
static errcode_t write_file(struct drawing *drawing, bool is_of_disks, const char *directory, FILE *markdown,
                            struct problem *problem)
{
	const struct overview_chart *chart = drawing->chart;
	const char *suffix = is_of_disks ? "-disks" : "";
	SCOPE_FREE char *path = NULL;

	if (asprintf(&path, "%s/allocsim-%s%s.svg", directory, chart->name, suffix) < 0)
		return ENOMEM;
	fprintf(markdown, "\n![%s](allocsim-%s%s.svg)\n", chart->title, chart->name, suffix);
	drawing->is_alone = true;
	return text_file_write(path, draw, drawing, "cannot write a chart", problem);
}

static errcode_t put(struct drawing *drawing, const struct chart_subject *subject, const char *directory,
                     struct document *document, struct problem *problem)
{
	errcode_t error = collect(drawing, subject);

	if (!error && !drawing->count)
		return 0;
	if (!error)
		error = document_flush(document);
	if (!error && document->markdown)
		error = write_file(drawing, !subject->measurements, directory, document->markdown, problem);
	if (error || !document->page)
		return error;
	drawing->is_alone = false;
	return draw(drawing, document->page);
}

errcode_t overview_chart_put(const struct overview_chart *chart, const struct chart_subject *subject,
                             const char *directory, struct document *document, struct problem *problem)
{
	char words[4 * TEXT_BYTES];
	struct drawing drawing = { .chart = chart, .options = subject->options, .words = words };

	snprintf(words, sizeof(words), "%s%s", subject->words, chart->is_logarithmic ? "; logarithmic scale" : "");
	errcode_t error = put(&drawing, subject, directory, document, problem);

	free(drawing.bars);
	return error ? problem_set(problem, error, directory, "cannot write a chart") : 0;
}

void overview_chart_legend(struct document *document)
{
	FILE *page = document->page;

	fputs("A bar's colour says whose way it shows, the same in every chart; its name stands beside it. A pale bar "
	      "with a "
	      "dashed outline is the same way, told of a RAID's stripes.\n\n",
	      document->text);
	if (!page || fflush(document->text))
		return;
	fputs("<ul class=\"legend\">\n", page);
	for (enum way way = 0; way < WAYS; way++)
		fprintf(page, "<li><i class=\"%s\"></i>%s</li>\n", ways[way].name, ways[way].words);
	fputs("</ul>\n", page);
}
