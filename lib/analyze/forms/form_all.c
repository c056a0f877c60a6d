/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several filesystems in one output: a row of a table, or an item of an array. */
#include <inttypes.h>
#include <string.h>

#include "analyze/forms/forms.h"
#include "analyze/report/verdict.h"
#include "support/io/whole_io.h"
#include "support/text/units.h"
#include "support/utf8.h"

static void print_row(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	const struct report_filesystem *filesystem = &report->filesystem;
	const struct histogram *sizes = &report->free.sizes;
	const struct report_sums *sums = &report->files.regular;
	const char *words = verdict_words(report->verdict.kind);

	/* "fine, many small files in two pieces" is fine. */
	fprintf(stream, "%-16.*s", (int)strcspn(words, ","), words);
	if (parts->files)
		fprintf(stream, " %5.0f %9" PRIu64 " %9" PRIu64, report->files.score, sums->files,
		        sums->counts.extents);
	fprintf(stream, " %10s", units_bytes(filesystem->blocks * filesystem->block_bytes).text);
	if (parts->free_space)
		fprintf(stream, " %5.1f%% %10s", report_percent(sizes->sum, filesystem->blocks),
		        units_bytes(histogram_weighted_percentile(sizes, 50) * filesystem->block_bytes).text);
	fputs("  ", stream);
	utf8_print(filesystem->target, stream);
	fputs(report->damage.count || filesystem->missing_blocks ? " (not all of it can be read)\n" : "\n", stream);
}

errcode_t form_all_text(const struct report *const *reports, size_t count, const struct form_parts *parts, FILE *stream)
{
	fprintf(stream, "%-16s", "verdict");
	if (parts->files)
		fprintf(stream, " %5s %9s %9s", "score", "files", "extents");
	fprintf(stream, " %10s", "size");
	if (parts->free_space)
		fprintf(stream, " %6s %10s", "free", "half in");
	fputs("  filesystem\n", stream);
	for (size_t n = 0; n < count; n++)
		print_row(reports[n], parts, stream);
	return flush_output(stream);
}

errcode_t form_all_json(const struct report *const *reports, size_t count, const struct form_parts *parts, FILE *stream)
{
	struct json json = { .stream = stream };

	json_open_array(&json, NULL);
	for (size_t n = 0; n < count; n++)
		form_json_object(&json, NULL, reports[n], parts);
	json_close_array(&json);
	return json_end(&json);
}
