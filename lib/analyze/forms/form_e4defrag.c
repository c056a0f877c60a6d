/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "analyze/forms/forms.h"
#include "support/io/whole_io.h"
#include "support/utf8.h"

#define SHOWN_FILES 5

static void print_file(const struct report *report, size_t number, FILE *stream)
{
	const struct report_file *file = &report->worst.files[number];
	const char *path = file->path ? file->path : "(no name)";
	SCOPE_FREE char *shown = utf8_printable(path);
	uint64_t kilobytes = file->blocks * (report->filesystem.block_bytes / 1024) / file->runs;

	fprintf(stream, "%zu. %-40s%7" PRIu64 "/%-10" PRIu64 "%6" PRIu64 " KB\n", number + 1, shown ? shown : "",
	        file->runs, file->ideal_extents, kilobytes);
}

errcode_t form_e4defrag(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	const struct report_sums *sums = &report->files.regular;
	uint64_t mean = sums->runs ? sums->blocks * (report->filesystem.block_bytes / 1024) / sums->runs : 0;

	(void)parts;
	fputs("<Fragmented files>                             now/best       size/ext\n", stream);
	for (size_t number = 0; number < report->worst.count && number < SHOWN_FILES; number++)
		print_file(report, number, stream);
	fprintf(stream, "\n Total/best extents\t\t\t\t%" PRIu64 "/%" PRIu64 "\n", sums->runs, sums->ideal_extents);
	fprintf(stream, " Average size per extent\t\t\t%" PRIu64 " KB\n", mean);
	fprintf(stream, " Fragmentation score\t\t\t\t%.0f\n", report->files.score);
	fputs(" [0-30 no problem: 31-55 a little bit fragmented: 56- needs defrag]\n", stream);
	fputs(" This filesystem (", stream);
	utf8_print(report->filesystem.target, stream);
	fprintf(stream, ") %s.\n",
	        score_band(report->files.score) == SCORE_DEFRAGMENT ? "needs defragmentation" :
	                                                              "does not need defragmentation");
	fputs(" Done.\n", stream);
	return flush_output(stream);
}
