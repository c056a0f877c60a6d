/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One sample of each figure, with the volume as its label, for node_exporter's textfile collector and every reader of
 * OpenMetrics. Names and units follow Prometheus' conventions: bytes, seconds, ratios from 0 to 1.
 */
#include <inttypes.h>
#include <string.h>

#include "analyze/forms/forms.h"
#include "analyze/report/verdict.h"
#include "support/io/whole_io.h"
#include "support/utf8.h"

struct form {
	const struct report *report;
	FILE *stream;
};

/* Prints a label's value. Bytes that are not UTF-8 become U+FFFD, as in JSON. */
static void print_label(const char *text, FILE *stream)
{
	for (size_t left = strlen(text); left;) {
		uint32_t code;
		unsigned int bytes = utf8_decode(text, left, &code);

		if (!bytes)
			fputs("\xef\xbf\xbd", stream);
		else if (code == '\n')
			fputs("\\n", stream);
		else
			fprintf(stream, "%s%.*s", code == '\\' || code == '"' ? "\\" : "", (int)bytes, text);
		text += bytes ? bytes : 1;
		left -= bytes ? bytes : 1;
	}
}

static void print_head(const struct form *form, const char *name, const char *type, const char *help)
{
	fprintf(form->stream, "# HELP ext2mb_%s %s\n# TYPE ext2mb_%s %s\n", name, help, name, type);
}

/* Prints the name and the labels in braces; more is a label after the volume's, NULL: none. The value follows. */
static void print_name(const struct form *form, const char *name, const char *more)
{
	fprintf(form->stream, "ext2mb_%s{volume=\"", name);
	print_label(form->report->filesystem.target, form->stream);
	fprintf(form->stream, "\"%s%s} ", more ? "," : "", more ? more : "");
}

static void print_count(const struct form *form, const char *name, const char *help, uint64_t value)
{
	print_head(form, name, "gauge", help);
	print_name(form, name, NULL);
	fprintf(form->stream, "%" PRIu64 "\n", value);
}

static void print_number(const struct form *form, const char *name, const char *help, double value)
{
	print_head(form, name, "gauge", help);
	print_name(form, name, NULL);
	fprintf(form->stream, "%.4f\n", value);
}

static void print_filesystem(const struct form *form)
{
	const struct report_filesystem *filesystem = &form->report->filesystem;

	print_head(form, "filesystem_info", "gauge", "The filesystem that the volume holds.");
	fputs("ext2mb_filesystem_info{volume=\"", form->stream);
	print_label(filesystem->target, form->stream);
	fputs("\",device=\"", form->stream);
	print_label(filesystem->device, form->stream);
	fputs("\",label=\"", form->stream);
	print_label(filesystem->label, form->stream);
	fprintf(form->stream, "\",uuid=\"%s\"} 1\n", filesystem->uuid);
	print_count(form, "filesystem_size_bytes", "The size of the filesystem.",
	            filesystem->blocks * filesystem->block_bytes);
}

static void print_free(const struct form *form)
{
	static const struct {
		const char *label;
		double percent;
	} quantiles[] = {
		{ "quantile=\"0.01\"", 1 },  { "quantile=\"0.1\"", 10 },  { "quantile=\"0.25\"", 25 },
		{ "quantile=\"0.5\"", 50 },  { "quantile=\"0.75\"", 75 }, { "quantile=\"0.9\"", 90 },
		{ "quantile=\"0.99\"", 99 },
	};
	const struct report_free *space = &form->report->free;
	uint64_t block_bytes = form->report->filesystem.block_bytes;

	print_count(form, "free_bytes", "Free space, as the superblock says.",
	            space->superblock_free_blocks * block_bytes);
	print_head(form, "free_extent_size_bytes", "summary", "Sizes of the free extents.");
	for (size_t n = 0; n < sizeof(quantiles) / sizeof(*quantiles); n++) {
		print_name(form, "free_extent_size_bytes", quantiles[n].label);
		fprintf(form->stream, "%" PRIu64 "\n",
		        histogram_percentile(&space->sizes, quantiles[n].percent) * block_bytes);
	}
	print_name(form, "free_extent_size_bytes_sum", NULL);
	fprintf(form->stream, "%" PRIu64 "\n", space->sizes.sum * block_bytes);
	print_name(form, "free_extent_size_bytes_count", NULL);
	fprintf(form->stream, "%" PRIu64 "\n", space->sizes.count);
	print_count(form, "free_extent_weighted_median_bytes", "Half of the free space is in extents up to this size.",
	            histogram_weighted_percentile(&space->sizes, 50) * block_bytes);
	print_count(form, "unreadable_groups", "Groups whose free space is unknown: their bitmaps are damaged.",
	            space->unreadable_groups);
	print_count(form, "largest_allocatable_bytes", "The most that one allocation can get.",
	            space->largest_allocatable * block_bytes);
}

static void print_files(const struct form *form)
{
	const struct report_files *files = &form->report->files;

	print_number(form, "fragmentation_score", "As e4defrag -c has it: above 30 a little, above 55 too much.",
	             files->score);
	print_count(form, "files", "Regular files with blocks.", files->regular.files);
	print_count(form, "fragmented_files", "Files in more extents than they need.", files->regular.fragmented_files);
	print_count(form, "file_extents", "Extents of all files.", files->regular.counts.extents);
	print_count(form, "file_extents_needed", "How many extents the files need at least.",
	            files->regular.ideal_extents);
	print_count(form, "worst_file_extents", "Extents of the file that has most of them.",
	            files->extents_per_file.maximum);
}

/* Prints one sample a verdict, so that an alert can select verdicts. */
static void print_verdict(const struct form *form)
{
	print_head(form, "verdict", "gauge", "What the layout comes to: 1 for one of the words.");
	for (unsigned int kind = 0; kind < VERDICT_KINDS; kind++) {
		char label[64];

		snprintf(label, sizeof(label), "words=\"%s\"", verdict_words(kind));
		print_name(form, "verdict", label);
		fprintf(form->stream, "%d\n", form->report->verdict.kind == kind);
	}
}

/* Prints the groups that the report names, so that an alert can name them, too. */
static void print_damaged_groups(const struct form *form)
{
	const struct damage_list *damage = &form->report->damage;
	bool has_head = false;
	uint32_t last = 0;

	for (unsigned int n = 0; n < damage->kept; n++) {
		uint32_t group = damage->first[n].group;
		char label[32];

		if (!damage->first[n].is_of_group || (has_head && group == last))
			continue;
		if (!has_head)
			print_head(form, "damaged_group", "gauge",
			           "Groups whose bitmap or inode table differs from their descriptor.");
		snprintf(label, sizeof(label), "group=\"%" PRIu32 "\"", group);
		print_name(form, "damaged_group", label);
		fputs("1\n", form->stream);
		has_head = true;
		last = group;
	}
}

static void print_left_out(const struct form *form, const struct form_parts *parts)
{
	const struct report_quick *quick = &form->report->quick;

	print_head(form, "left_out_ratio", "gauge", "What share of the volume --quick has not read.");
	if (parts->free_space) {
		print_name(form, "left_out_ratio", "part=\"free space\"");
		fprintf(form->stream, "%.4f\n", report_ratio(quick->groups, form->report->filesystem.groups));
	}
	if (parts->files) {
		print_name(form, "left_out_ratio", "part=\"inodes\"");
		fprintf(form->stream, "%.4f\n", report_ratio(quick->inodes, quick->inodes_in_use));
	}
}

errcode_t form_openmetrics(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	struct form form = { report, stream };

	print_filesystem(&form);
	if (parts->free_space)
		print_free(&form);
	if (parts->files)
		print_files(&form);
	print_verdict(&form);
	print_count(&form, "unreadable", "Pieces of metadata that could not be read or are wrong.",
	            report->damage.count);
	print_damaged_groups(&form);
	print_left_out(&form, parts);
	print_number(&form, "scan_duration_seconds", "How long it took to read all this.", report->seconds);
	fputs("# EOF\n", stream);
	return flush_output(stream);
}
