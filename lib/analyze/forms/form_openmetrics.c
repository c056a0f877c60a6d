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

/* A metric is one family, whatever the number of volumes: its head, and then a sample of each. */
struct form {
	const struct report *const *reports;
	size_t count;
	FILE *stream;
};

#define EACH_REPORT(form, report)                                                                                      \
	for (const struct report *const *each = (form)->reports, *report;                                              \
	     each < (form)->reports + (form)->count && (report = *each, true); each++)

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
static void print_name(const struct form *form, const struct report *report, const char *name, const char *more)
{
	fprintf(form->stream, "ext2mb_%s{volume=\"", name);
	print_label(report->filesystem.target, form->stream);
	fprintf(form->stream, "\"%s%s} ", more ? "," : "", more ? more : "");
}

/* A gauge that is a count of each report. */
struct count_metric {
	const char *name, *help;
	uint64_t (*value)(const struct report *report);
};

static void print_counts(const struct form *form, const struct count_metric *metrics, size_t count)
{
	for (const struct count_metric *metric = metrics; metric < metrics + count; metric++) {
		print_head(form, metric->name, "gauge", metric->help);
		EACH_REPORT(form, report)
		{
			print_name(form, report, metric->name, NULL);
			fprintf(form->stream, "%" PRIu64 "\n", metric->value(report));
		}
	}
}

static void print_number(const struct form *form, const char *name, const char *help,
                         double (*value)(const struct report *report))
{
	print_head(form, name, "gauge", help);
	EACH_REPORT(form, report)
	{
		print_name(form, report, name, NULL);
		fprintf(form->stream, "%.4f\n", value(report));
	}
}

/* The value of a count_metric. */
#define VALUE(name, expression)                                                                                        \
	static uint64_t name(const struct report *report)                                                              \
	{                                                                                                              \
		return expression;                                                                                     \
	}
VALUE(size_bytes, report->filesystem.blocks * report->filesystem.block_bytes)
VALUE(free_bytes, report->free.superblock_free_blocks * report->filesystem.block_bytes)
VALUE(weighted_median, histogram_weighted_percentile(&report->free.sizes, 50) * report->filesystem.block_bytes)
VALUE(unreadable_groups, report->free.unreadable_groups)
VALUE(largest_allocatable, report->free.largest_allocatable * report->filesystem.block_bytes)
VALUE(files, report->files.regular.files)
VALUE(fragmented_files, report->files.regular.fragmented_files)
VALUE(extents, report->files.regular.counts.extents)
VALUE(ideal_extents, report->files.regular.ideal_extents)
VALUE(worst_extents, report->files.extents_per_file.maximum)
VALUE(unreadable, report->damage.count)
#undef VALUE

static double score(const struct report *report)
{
	return report->files.score;
}

static double seconds(const struct report *report)
{
	return report->seconds;
}

static void print_filesystem(const struct form *form)
{
	static const struct count_metric size = { "filesystem_size_bytes", "The size of the filesystem.", size_bytes };

	print_head(form, "filesystem_info", "gauge", "The filesystem that the volume holds.");
	EACH_REPORT(form, report)
	{
		const struct report_filesystem *filesystem = &report->filesystem;

		fputs("ext2mb_filesystem_info{volume=\"", form->stream);
		print_label(filesystem->target, form->stream);
		fputs("\",device=\"", form->stream);
		print_label(filesystem->device, form->stream);
		fputs("\",label=\"", form->stream);
		print_label(filesystem->label, form->stream);
		fprintf(form->stream, "\",uuid=\"%s\"} 1\n", filesystem->uuid);
	}
	print_counts(form, &size, 1);
}

static void print_free_sizes(const struct form *form, const struct report *report)
{
	static const struct {
		const char *label;
		double percent;
	} quantiles[] = {
		{ "quantile=\"0.01\"", 1 },  { "quantile=\"0.1\"", 10 },  { "quantile=\"0.25\"", 25 },
		{ "quantile=\"0.5\"", 50 },  { "quantile=\"0.75\"", 75 }, { "quantile=\"0.9\"", 90 },
		{ "quantile=\"0.99\"", 99 },
	};
	const struct histogram *sizes = &report->free.sizes;
	uint64_t block_bytes = report->filesystem.block_bytes;

	for (size_t n = 0; n < sizeof(quantiles) / sizeof(*quantiles); n++) {
		print_name(form, report, "free_extent_size_bytes", quantiles[n].label);
		fprintf(form->stream, "%" PRIu64 "\n", histogram_percentile(sizes, quantiles[n].percent) * block_bytes);
	}
	print_name(form, report, "free_extent_size_bytes_sum", NULL);
	fprintf(form->stream, "%" PRIu64 "\n", sizes->sum * block_bytes);
	print_name(form, report, "free_extent_size_bytes_count", NULL);
	fprintf(form->stream, "%" PRIu64 "\n", sizes->count);
}

static void print_free(const struct form *form)
{
	static const struct count_metric before[] = {
		{ "free_bytes", "Free space, as the superblock says.", free_bytes },
	};
	static const struct count_metric after[] = {
		{ "free_extent_weighted_median_bytes", "Half of the free space is in extents up to this size.",
		  weighted_median },
		{ "unreadable_groups", "Groups whose free space is unknown: their bitmaps are damaged.",
		  unreadable_groups },
		{ "largest_allocatable_bytes", "The most that one allocation can get.", largest_allocatable },
	};

	print_counts(form, before, sizeof(before) / sizeof(*before));
	print_head(form, "free_extent_size_bytes", "summary", "Sizes of the free extents.");
	EACH_REPORT(form, report)
	{
		print_free_sizes(form, report);
	}
	print_counts(form, after, sizeof(after) / sizeof(*after));
}

static void print_files(const struct form *form)
{
	static const struct count_metric metrics[] = {
		{ "files", "Regular files with blocks.", files },
		{ "fragmented_files", "Files in more extents than they need.", fragmented_files },
		{ "file_extents", "Extents of all files.", extents },
		{ "file_extents_needed", "How many extents the files need at least.", ideal_extents },
		{ "worst_file_extents", "Extents of the file that has most of them.", worst_extents },
	};

	print_number(form, "fragmentation_score", "As e4defrag -c has it: above 30 a little, above 55 too much.",
	             score);
	print_counts(form, metrics, sizeof(metrics) / sizeof(*metrics));
}

/* Prints one sample a verdict, so that an alert can select verdicts. */
static void print_verdict(const struct form *form)
{
	print_head(form, "verdict", "gauge", "What the layout comes to: 1 for one of the words.");
	EACH_REPORT(form, report)
	{
		for (unsigned int kind = 0; kind < VERDICT_KINDS; kind++) {
			char label[64];

			snprintf(label, sizeof(label), "words=\"%s\"", verdict_words(kind));
			print_name(form, report, "verdict", label);
			fprintf(form->stream, "%d\n", report->verdict.kind == kind);
		}
	}
}

/* Prints the groups that the report names, so that an alert can name them, too. */
static void print_damaged_groups(const struct form *form)
{
	bool has_head = false;

	EACH_REPORT(form, report)
	{
		const struct image_damage *last = NULL;

		for (const struct image_damage *damage = report->damage.first;
		     damage < report->damage.first + report->damage.kept; damage++) {
			char label[32];

			if (!damage->is_of_group || (last && damage->group == last->group))
				continue;
			if (!has_head)
				print_head(form, "damaged_group", "gauge",
				           "Groups whose bitmap or inode table differs from their descriptor.");
			snprintf(label, sizeof(label), "group=\"%" PRIu32 "\"", damage->group);
			print_name(form, report, "damaged_group", label);
			fputs("1\n", form->stream);
			has_head = true;
			last = damage;
		}
	}
}

static void print_left_out(const struct form *form, const struct form_parts *parts)
{
	print_head(form, "left_out_ratio", "gauge", "What share of the volume --quick has not read.");
	EACH_REPORT(form, report)
	{
		const struct report_quick *quick = &report->quick;

		if (parts->free_space) {
			print_name(form, report, "left_out_ratio", "part=\"free space\"");
			fprintf(form->stream, "%.4f\n", report_ratio(quick->groups, report->filesystem.groups));
		}
		if (parts->files) {
			print_name(form, report, "left_out_ratio", "part=\"inodes\"");
			fprintf(form->stream, "%.4f\n", report_ratio(quick->inodes, quick->inodes_in_use));
		}
	}
}

errcode_t form_all_openmetrics(const struct report *const *reports, size_t count, const struct form_parts *parts,
                               FILE *stream)
{
	static const struct count_metric damage = { "unreadable",
		                                    "Pieces of metadata that could not be read or are wrong.",
		                                    unreadable };
	struct form form = { reports, count, stream };

	print_filesystem(&form);
	if (parts->free_space)
		print_free(&form);
	if (parts->files)
		print_files(&form);
	print_verdict(&form);
	print_counts(&form, &damage, 1);
	print_damaged_groups(&form);
	print_left_out(&form, parts);
	print_number(&form, "scan_duration_seconds", "How long it took to read all this.", seconds);
	fputs("# EOF\n", stream);
	return flush_output(stream);
}

errcode_t form_openmetrics(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	return form_all_openmetrics(&report, 1, parts, stream);
}
