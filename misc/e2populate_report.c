// SPDX-License-Identifier: GPL-2.0-or-later
#include "e2populate_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/units.h"

void report_print_size(const char *image, const struct populate_report *report)
{
	printf("%s: %" PRIu64 " bytes: %" PRIu64 " blocks of %" PRIu32 " bytes, %" PRIu32 " inodes\n", image,
	       report->image_bytes, report->blocks, report->block_bytes, report->image_inodes);
}

void report_print(const char *image, const struct populate_report *report)
{
	char size[UNITS_TEXT_BYTES], data[UNITS_TEXT_BYTES], free_space[UNITS_TEXT_BYTES];

	units_format_bytes(report->image_bytes, size);
	units_format_bytes(report->data_bytes, data);
	units_format_bytes(report->free_blocks * report->block_bytes, free_space);
	printf("%s: %s, of which %s are free\n", image, size, free_space);
	printf("%" PRIu64 " names, %" PRIu64 " inodes, %s of data\n", report->names, report->inodes, data);
	if (report->regular_files)
		printf("%" PRIu64 " files with data in %" PRIu64 " extents: %.3f extents per file\n",
		       report->regular_files, report->data_extents,
		       (double)report->data_extents / (double)report->regular_files);
	if (report->zero_blocks)
		printf("%" PRIu64 " blocks of zeros became holes\n", report->zero_blocks);
}

void report_warnings(const struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++) {
		SCOPE_FREE char *text = warning_text(&warnings->list[i]);

		fprintf(stderr, "e2populate: %s\n", text ? text : "out of memory");
	}
}

void report_problem(struct problem *problem)
{
	SCOPE_FREE char *text = problem_text(problem);

	fprintf(stderr, "e2populate: %s\n", text ? text : "out of memory");
	problem_clear(problem);
}
