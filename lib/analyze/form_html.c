/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One page that needs nothing else: its style is inside, its pictures are SVG, there is no script. */
#include <inttypes.h>
#include <string.h>

#include "analyze/forms.h"
#include "support/units.h"
#include "support/utf8.h"

#define CHART_WIDTH 640
#define BAR_HEIGHT 18
#define LABEL_WIDTH 110
#define COUNT_WIDTH 150

struct form {
	const struct report *report;
	FILE *stream;
};

static const char head[] =
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<style>\n"
	"body { font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; background: "
        "#fff }\n"
	"h1 { font-size: 1.4em; overflow-wrap: anywhere } h2 { font-size: 1.15em; margin-top: 2em }\n"
	"table { border-collapse: collapse } td, th { padding: .15em .8em; text-align: right; font-weight: normal }\n"
	"th { color: #666; border-bottom: 1px solid #ccc } td:last-child, th:last-child { text-align: left }\n"
	"table.figures td:first-child { text-align: left; color: #666 } td { overflow-wrap: anywhere }\n"
	".score { font-size: 2.4em } .fine { color: #1a7f37 } .little { color: #9a6700 } .bad { color: #cf222e }\n"
	"svg { max-width: 100%; height: auto } svg text { font: 12px sans-serif; fill: #444 } rect.bar { fill: #4a7fb5 "
        "}\n"
	"@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } svg text { fill: #bbb } }\n"
	"</style>\n";

/* Text of any bytes between tags. */
static void put_text(const struct form *form, const char *text)
{
	SCOPE_FREE char *shown = utf8_printable(text, strlen(text));

	for (const char *at = shown ? shown : "?"; *at; at++) {
		switch (*at) {
		case '<':
			fputs("&lt;", form->stream);
			break;
		case '>':
			fputs("&gt;", form->stream);
			break;
		case '&':
			fputs("&amp;", form->stream);
			break;
		case '"':
			fputs("&quot;", form->stream);
			break;
		default:
			fputc(*at, form->stream);
		}
	}
}

static void put_size(const struct form *form, uint64_t blocks)
{
	char text[UNITS_TEXT_BYTES];

	fputs(units_format_bytes(blocks * form->report->filesystem.block_bytes, text), form->stream);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void put_count_row(const struct form *form, const char *name, uint64_t count)
{
	fprintf(form->stream, "<tr><td>%s<td>%" PRIu64 "\n", name, count);
}

static void put_size_row(const struct form *form, const char *name, uint64_t blocks)
{
	fprintf(form->stream, "<tr><td>%s<td>", name);
	put_size(form, blocks);
	fputc('\n', form->stream);
}

/* A bar for each power of two that has values, as long as its share of the sum. */
static void put_chart(const struct form *form, const char *title, const struct histogram *histogram, bool is_size)
{
	FILE *stream = form->stream;
	unsigned int rows = 0;
	uint64_t count, sum, largest = 0;

	for (unsigned int power = 0; power < HISTOGRAM_POWERS; power++) {
		histogram_power(histogram, power, &count, &sum);
		rows += !!count;
		largest = sum > largest ? sum : largest;
	}
	fprintf(stream, "<h3>%s</h3>\n<svg viewBox=\"0 0 %u %u\" width=\"%u\" role=\"img\">\n", title,
	        LABEL_WIDTH + CHART_WIDTH + COUNT_WIDTH, rows * BAR_HEIGHT, LABEL_WIDTH + CHART_WIDTH + COUNT_WIDTH);
	rows = 0;
	for (unsigned int power = 0; power < HISTOGRAM_POWERS; power++) {
		char from[UNITS_TEXT_BYTES];

		histogram_power(histogram, power, &count, &sum);
		if (!count)
			continue;
		/* Sizes of more than 2^48 blocks there are none. */
		if (is_size && power < 48)
			units_format_bytes((uint64_t)form->report->filesystem.block_bytes << power, from);
		else
			snprintf(from, sizeof(from), "%" PRIu64, UINT64_C(1) << power);
		double width = share(sum, largest) * CHART_WIDTH;

		fprintf(stream, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">%s</text>", LABEL_WIDTH - 8,
		        rows * BAR_HEIGHT + 13, from);
		fprintf(stream, "<rect class=\"bar\" x=\"%u\" y=\"%u\" width=\"%.1f\" height=\"%u\"/>", LABEL_WIDTH,
		        rows * BAR_HEIGHT + 2, width < 1 ? 1 : width, BAR_HEIGHT - 4);
		fprintf(stream, "<text x=\"%.1f\" y=\"%u\">%.1f%% (%" PRIu64 ")</text>\n", LABEL_WIDTH + width + 6,
		        rows * BAR_HEIGHT + 13, 100 * share(sum, histogram->sum), count);
		rows++;
	}
	fputs("</svg>\n", stream);
}

/* The filesystem from its start to its end, darker where it is fuller. */
static void put_zones(const struct form *form)
{
	const struct report_free *space = &form->report->free;
	double width = space->zone_count ? (double)CHART_WIDTH / (double)space->zone_count : 0;

	fprintf(form->stream,
	        "<h3>Where it is, from the first block to the last</h3>\n"
	        "<svg viewBox=\"0 0 %u 40\" width=\"%u\" role=\"img\">\n",
	        CHART_WIDTH, CHART_WIDTH);
	for (size_t n = 0; n < space->zone_count; n++) {
		const struct report_zone *zone = &space->zones[n];

		fprintf(form->stream,
		        "<rect x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"40\" fill=\"hsl(210 45%% "
		        "%.0f%%)\"><title>groups %" PRIu64 " to %" PRIu64 ": %.1f%% free in %" PRIu64
		        " extents</title></rect>\n",
		        (double)n * width, width, 25 + 65 * share(zone->free_blocks, zone->blocks), zone->first_group,
		        zone->first_group + zone->groups - 1, 100 * share(zone->free_blocks, zone->blocks),
		        zone->extents);
	}
	fputs("</svg>\n", form->stream);
}

static void put_free(const struct form *form)
{
	const struct report_free *space = &form->report->free;
	const struct histogram *sizes = &space->sizes;

	fputs("<h2>Free space</h2>\n<table class=\"figures\">\n", form->stream);
	put_size_row(form, "Free", sizes->sum);
	fprintf(form->stream, "<tr><td>Of the filesystem<td>%.1f%%\n",
	        100 * share(sizes->sum, form->report->filesystem.blocks));
	put_count_row(form, "Extents", sizes->count);
	put_size_row(form, "Mean extent", (uint64_t)(histogram_mean(sizes) + 0.5));
	put_size_row(form, "Median extent", histogram_percentile(sizes, 50));
	put_size_row(form, "Half of it is in extents of at least", histogram_weighted_percentile(sizes, 50));
	put_size_row(form, "Largest extent", sizes->maximum);
	put_size_row(form, "One allocation gets up to", space->largest_allocatable);
	fputs("</table>\n", form->stream);
	put_zones(form);
	put_chart(form, "Free space by size of extent: share of the blocks (extents)", sizes, true);
}

static void put_files(const struct form *form)
{
	const struct report_files *files = &form->report->files;
	const struct report_sums *sums = &files->regular;

	fputs("<h2>Files</h2>\n<table class=\"figures\">\n", form->stream);
	put_count_row(form, "Regular files with blocks", sums->files);
	put_size_row(form, "Their blocks", sums->blocks);
	put_count_row(form, "Extents", sums->extents);
	put_count_row(form, "Ideal", sums->ideal_extents);
	put_count_row(form, "Files in more than their ideal", sums->fragmented_files);
	fprintf(form->stream, "<tr><td>Extents per file<td>%.3f\n", share(sums->extents, sums->files));
	put_count_row(form, "Blocks of maps", sums->map_blocks);
	put_count_row(form, "Jumps within files", sums->inside.jumps);
	put_count_row(form, "Jumps from file to file", files->between.jumps);
	put_count_row(form, "Directories", form->report->directories.count);
	put_count_row(form, "Extents of directories", form->report->directories.sums.extents);
	fputs("</table>\n", form->stream);
	put_chart(form, "Extents by number in a file: share of the extents (files)", &files->extents_per_file, false);
	put_chart(form, "Files by size of extent: share of the blocks (extents)", &files->extent_blocks, true);
}

static void put_path(const struct form *form, const char *path, uint32_t ino)
{
	if (path)
		put_text(form, path);
	else
		fprintf(form->stream, "(no name: inode %u)", ino);
	fputc('\n', form->stream);
}

static void put_worst(const struct form *form)
{
	fputs("<h2>Worst files</h2>\n<table>\n<tr><th>extents<th>ideal<th>size<th>path\n", form->stream);
	for (size_t n = 0; n < form->report->worst_count; n++) {
		const struct report_file *file = &form->report->worst[n];

		fprintf(form->stream, "<tr><td>%" PRIu64 "<td>%" PRIu64 "<td>", file->extents, file->ideal_extents);
		put_size(form, file->blocks);
		fputs("<td>", form->stream);
		put_path(form, file->path, file->ino);
	}
	fputs("</table>\n", form->stream);
}

static void put_by_directory(const struct form *form)
{
	fputs("<h2>By directory</h2>\n<table>\n<tr><th>score<th>files<th>extents<th>ideal<th>size<th>path\n",
	      form->stream);
	for (size_t n = 0; n < form->report->by_directory_count; n++) {
		const struct report_directory *directory = &form->report->by_directory[n];

		fprintf(form->stream, "<tr><td>%.0f<td>%" PRIu64 "<td>%" PRIu64 "<td>%" PRIu64 "<td>", directory->score,
		        directory->files, directory->extents, directory->ideal_extents);
		put_size(form, directory->blocks);
		fputs("<td>", form->stream);
		put_path(form, directory->path, directory->ino);
	}
	fputs("</table>\n", form->stream);
}

static void put_verdict(const struct form *form)
{
	static const char *const classes[] = { "fine", "little", "bad" };
	const struct report_verdict *verdict = &form->report->verdict;

	fprintf(form->stream, "<p><span class=\"score %s\">%.0f</span> of 100: %s\n", classes[verdict->band],
	        verdict->score, score_band_words(verdict->band));
	for (unsigned int n = 0; n < verdict->advice_count; n++)
		fprintf(form->stream, "<p>%s\n", verdict->advice[n]);
}

void form_html(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	struct form form = { report, stream };

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>e2frag: ", stream);
	put_text(&form, report->filesystem.target);
	fputs("</title>\n", stream);
	fputs(head, stream);
	fputs("<h1>", stream);
	put_text(&form, report->filesystem.target);
	fputs("</h1>\n<p>", stream);
	put_size(&form, report->filesystem.blocks);
	fprintf(stream, " in blocks of %u bytes, %u groups\n", report->filesystem.block_bytes,
	        report->filesystem.groups);
	if (report->damage_count) {
		fprintf(stream, "<p class=\"bad\">Cannot be read: %" PRIu64 " pieces\n<pre>\n", report->damage_count);
		form_damage(report, "", stream);
		fputs("</pre>\n", stream);
	}
	if (parts->files)
		put_verdict(&form);
	if (parts->free_space)
		put_free(&form);
	if (parts->files)
		put_files(&form);
	if (parts->files && report->worst_count)
		put_worst(&form);
	if (report->by_directory)
		put_by_directory(&form);
	fputs("</html>\n", stream);
}
