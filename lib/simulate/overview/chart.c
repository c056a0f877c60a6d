// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/overview/chart.h"

#include <string.h>

#include "support/io/whole_io.h"
#include "support/text/markup.h"

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
static double extent_of(const struct chart *chart, double value)
{
	double powers = 0;

	if (!chart->is_logarithmic)
		return value;
	for (value += 1; value >= 2; value /= 2)
		powers++;
	return powers + value - 1;
}

static bool begins_group(const struct chart *chart, size_t bar)
{
	return *chart->bars[bar].group && (!bar || strcmp(chart->bars[bar].group, chart->bars[bar - 1].group) != 0);
}

static void put_bars(FILE *stream, const struct chart *chart)
{
	double most = 0;
	int y = TOP;

	for (size_t index = 0; index < chart->count; index++)
		most = larger(most, extent_of(chart, chart->bars[index].value));
	for (size_t index = 0; index < chart->count; index++) {
		const struct chart_bar *bar = &chart->bars[index];
		double length = most > 0 ? extent_of(chart, bar->value) / most * LONGEST_BAR : 0;

		if (begins_group(chart, index)) {
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

errcode_t chart_write(FILE *stream, const struct chart *chart)
{
	int height = TOP + 12;

	for (size_t index = 0; index < chart->count; index++)
		height += ROW_HEIGHT + (begins_group(chart, index) ? GROUP_HEIGHT : 0);
	fprintf(stream,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
	        "role=\"img\">\n<title>",
	        WIDTH, height, WIDTH, height);
	markup_print(chart->title, strlen(chart->title), stream);
	fprintf(stream, "</title>\n%s", style);
	put_text(stream, 16, 24, " class=\"title\"", chart->title);
	if (chart->is_logarithmic)
		put_text(stream, 16, 40, " class=\"small\"", "logarithmic scale");
	put_bars(stream, chart);
	fputs("</svg>\n", stream);
	return flush_output(stream);
}
