/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "analyze/forms.h"
#include "support/utf8.h"

struct form {
	const struct report *before, *after;
	FILE *stream;
};

/* What is compared, in the units in which it is shown. */
struct figure {
	const char *name;
	double (*value)(const struct report *report);
	unsigned int decimals;
};

static double kilobytes(const struct report *report, double blocks)
{
	return blocks * report->filesystem.block_bytes / 1024;
}

static double quotient(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double free_kilobytes(const struct report *report)
{
	return kilobytes(report, (double)report->free.sizes.sum);
}

static double free_extents(const struct report *report)
{
	return (double)report->free.sizes.count;
}

static double free_mean(const struct report *report)
{
	return kilobytes(report, histogram_mean(&report->free.sizes));
}

static double free_median(const struct report *report)
{
	return kilobytes(report, (double)histogram_percentile(&report->free.sizes, 50));
}

static double free_weighted_median(const struct report *report)
{
	return kilobytes(report, (double)histogram_weighted_percentile(&report->free.sizes, 50));
}

static double free_largest(const struct report *report)
{
	return kilobytes(report, (double)report->free.sizes.maximum);
}

static double files(const struct report *report)
{
	return (double)report->files.regular.files;
}

static double file_kilobytes(const struct report *report)
{
	return kilobytes(report, (double)report->files.regular.blocks);
}

static double file_extents(const struct report *report)
{
	return (double)report->files.regular.extents;
}

static double extents_per_file(const struct report *report)
{
	return quotient(report->files.regular.extents, report->files.regular.files);
}

static double extent_kilobytes(const struct report *report)
{
	return kilobytes(report, quotient(report->files.regular.blocks, report->files.regular.extents));
}

static double fragmented_files(const struct report *report)
{
	return (double)report->files.regular.fragmented_files;
}

static double map_blocks(const struct report *report)
{
	return (double)report->files.regular.map_blocks;
}

static double jumps(const struct report *report)
{
	return (double)(report->files.regular.inside.jumps + report->files.between.jumps);
}

static double far_jumps(const struct report *report)
{
	return (double)(report->files.regular.inside.far + report->files.between.far);
}

static double backward_jumps(const struct report *report)
{
	return (double)(report->files.regular.inside.backward + report->files.between.backward);
}

static double directory_extents(const struct report *report)
{
	return (double)report->directories.sums.extents;
}

static double score(const struct report *report)
{
	return report->files.score;
}

static const struct figure free_figures[] = {
	{ "Free space (KiB)", free_kilobytes, 0 },
	{ "Free extents", free_extents, 0 },
	{ "Mean free extent (KiB)", free_mean, 1 },
	{ "Median free extent (KiB)", free_median, 0 },
	{ "Half is in extents of (KiB)", free_weighted_median, 0 },
	{ "Largest free extent (KiB)", free_largest, 0 },
};

static const struct figure file_figures[] = {
	{ "Files with blocks", files, 0 },
	{ "Blocks of files (KiB)", file_kilobytes, 0 },
	{ "Extents of files", file_extents, 0 },
	{ "Extents per file", extents_per_file, 3 },
	{ "Mean extent (KiB)", extent_kilobytes, 1 },
	{ "Files in too many extents", fragmented_files, 0 },
	{ "Blocks of maps", map_blocks, 0 },
	{ "Jumps in reading all files", jumps, 0 },
	{ "  far ones", far_jumps, 0 },
	{ "  backward ones", backward_jumps, 0 },
	{ "Extents of directories", directory_extents, 0 },
	{ "Score", score, 1 },
};

static void print_figures(const struct form *form, const struct figure *figures, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		const struct figure *figure = &figures[n];
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
	if (parts->free_space)
		print_figures(&form, free_figures, sizeof(free_figures) / sizeof(*free_figures));
	if (parts->files)
		print_figures(&form, file_figures, sizeof(file_figures) / sizeof(*file_figures));
}
