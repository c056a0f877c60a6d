// SPDX-License-Identifier: GPL-2.0-or-later
#include "e2populate_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "support/io/flush.h"
#include "support/text/json.h"
#include "support/text/units.h"
#include "support/utf8.h"
#include "tool.h"

void report_print_size(const char *image, const struct populate_report *report)
{
	utf8_print(image, stdout);
	printf(": %" PRIu64 " bytes: %" PRIu64 " blocks of %" PRIu32 " bytes, %" PRIu32 " inodes\n",
	       report->image_bytes, report->blocks, report->block_bytes, report->image_inodes);
}

void report_print(const char *image, const struct populate_report *report)
{
	char size[UNITS_TEXT_BYTES], data[UNITS_TEXT_BYTES], free_space[UNITS_TEXT_BYTES];

	units_format_bytes(report->image_bytes, size);
	units_format_bytes(report->data_bytes, data);
	units_format_bytes(report->free_blocks * report->block_bytes, free_space);
	utf8_print(image, stdout);
	printf(": %s, of which %s are free\n", size, free_space);
	printf("%" PRIu64 " name%s, %" PRIu64 " inode%s, %s of data\n", report->names, units_plural(report->names),
	       report->inodes, units_plural(report->inodes), data);
	for (uint32_t i = 0; report->source_count > 1 && i < report->source_count; i++) {
		units_format_bytes(report->sources[i].data_bytes, data);
		fputs("  ", stdout);
		utf8_print(report->sources[i].path, stdout);
		printf(": %" PRIu64 " name%s, %s of data\n", report->sources[i].names,
		       units_plural(report->sources[i].names), data);
	}
	if (report->regular_files)
		printf("%" PRIu64 " file%s with data in %" PRIu64 " extent%s: %.3f extents per file\n",
		       report->regular_files, units_plural(report->regular_files), report->data_extents,
		       units_plural(report->data_extents),
		       (double)report->data_extents / (double)report->regular_files);
	if (report->flagged_files)
		printf("%" PRIu64 " files have file flags\n", report->flagged_files);
	if (report->zero_blocks)
		printf("%" PRIu64 " block%s of zeros became holes\n", report->zero_blocks,
		       units_plural(report->zero_blocks));
	if (report->verified)
		puts("verified: e2fsck finds nothing, and all is as in the source");
}

static void write_image(struct json *json, const struct populate_options *options, const struct populate_report *report)
{
	json_open_object(json, "image");
	json_string(json, "path", options->image);
	json_unsigned(json, "bytes", report->image_bytes);
	json_unsigned(json, "block_bytes", report->block_bytes);
	json_unsigned(json, "blocks", report->blocks);
	json_unsigned(json, "free_blocks", report->free_blocks);
	json_unsigned(json, "reserved_blocks", report->reserved_blocks);
	json_unsigned(json, "journal_blocks", report->journal_blocks);
	json_unsigned(json, "inodes", report->image_inodes);
	json_unsigned(json, "free_inodes", report->free_inodes);
	json_close_object(json);
}

static void write_content(struct json *json, const struct populate_options *options,
                          const struct populate_report *report)
{
	json_open_object(json, "content");
	json_unsigned(json, "names", report->names);
	json_unsigned(json, "inodes", report->inodes);
	json_unsigned(json, "data_bytes", report->data_bytes);
	/* Known once everything has been read and written. */
	if (!options->size_only) {
		json_unsigned(json, "files_with_data", report->regular_files);
		json_unsigned(json, "data_blocks", report->data_blocks);
		json_unsigned(json, "data_extents", report->data_extents);
		json_unsigned(json, "zero_blocks", report->zero_blocks);
		json_unsigned(json, "files_with_flags", report->flagged_files);
	}
	json_close_object(json);
}

static void write_sources(struct json *json, const struct populate_report *report)
{
	json_open_array(json, "sources");
	for (uint32_t i = 0; i < report->source_count; i++) {
		json_open_row(json, NULL);
		json_string(json, "path", report->sources[i].path);
		json_unsigned(json, "names", report->sources[i].names);
		json_unsigned(json, "data_bytes", report->sources[i].data_bytes);
		json_close_object(json);
	}
	json_close_array(json);
}

errcode_t report_print_json(const struct populate_options *options, const struct populate_report *report)
{
	struct json json = { .stream = stdout };
	unsigned int stages = options->size_only ? POPULATE_FORMAT + 1 : POPULATE_STAGES;

	json_open_object(&json, NULL);
	json_boolean(&json, "size_only", options->size_only);
	write_image(&json, options, report);
	write_content(&json, options, report);
	write_sources(&json, report);
	json_unsigned(&json, "warnings", report->warnings.count);
	json_boolean(&json, "verified", report->verified);
	json_boolean(&json, "skipped_image", report->skipped_image);
	json_open_object(&json, "seconds");
	for (unsigned int stage = 0; stage < stages - (stages == POPULATE_STAGES && !options->verify); stage++)
		json_number(&json, populate_stage_names[stage], report->seconds[stage], 3);
	json_close_object(&json);
	json_close_object(&json);
	return json_end(&json);
}

errcode_t report_end(const struct populate_options *options, errcode_t error)
{
	struct problem problem = { 0 };

	if (!error)
		error = flush_output(stdout);
	if (!error)
		return 0;
	if (options->size_only)
		problem_set(&problem, error, "standard output", "cannot write");
	else
		problem_set(&problem, error, options->image, "the image is whole, but its report cannot be written");
	print_problem(&problem);
	return error;
}

void report_print_file(int descriptor, FILE *stream)
{
	char bytes[4096];
	ssize_t got;

	for (off_t at = 0; (got = pread(descriptor, bytes, sizeof(bytes), at)) > 0; at += got)
		fwrite(bytes, 1, (size_t)got, stream);
}

void report_warnings(const struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++) {
		SCOPE_FREE char *text = warning_text(&warnings->list[i]);

		fprintf(stderr, "e2populate: %s\n", text ? text : "out of memory");
	}
}
