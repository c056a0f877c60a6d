/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/form_delta.h"

#include <inttypes.h>

#include "analyze/report/report.h"
#include "support/text/units.h"
#include "support/utf8.h"

void form_delta_json(struct json *json, const struct delta *delta)
{
	json_open_object(json, "against");
	json_string(json, "path", delta->old_path);
	json_members(json, JSON_COUNT("image_bytes", delta->image_bytes), JSON_COUNT("block_bytes", delta->block_bytes),
	             JSON_COUNT("blocks", delta->blocks), JSON_COUNT("differing_blocks", delta->differing_blocks),
	             JSON_COUNT("differing_bytes", delta->differing_bytes),
	             JSON_COUNT("chunk_bytes", delta->chunk_bytes), JSON_COUNT("chunks", delta->chunks),
	             JSON_COUNT("differing_chunks", delta->differing_chunks),
	             JSON_COUNT("differing_chunk_bytes", delta->differing_chunk_bytes),
	             JSON_COUNT("doubtful_groups", delta->doubtful_groups));
	json_open_array(json, "ranges");
	for (size_t n = 0; n < delta->range_count; n++) {
		json_open_row(json, NULL);
		json_members(json, JSON_COUNT("start_bytes", delta->ranges[n].start_bytes),
		             JSON_COUNT("bytes", delta->ranges[n].bytes));
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

void form_delta_text(const struct delta *delta, const char *title, FILE *stream)
{
	fputs(title, stream);
	utf8_print(delta->old_path, stream);
	fprintf(stream, ": %" PRIu64 " of %" PRIu64 " blocks in use differ (%.1f%%)\n", delta->differing_blocks,
	        delta->blocks, report_percent(delta->differing_blocks, delta->blocks));
	fprintf(stream, "  %s in %zu range%s\n", units_bytes(delta->differing_bytes).text, delta->range_count,
	        units_plural(delta->range_count));
	fprintf(stream, "  %" PRIu64 " of %" PRIu64 " chunks of %s, %s\n", delta->differing_chunks, delta->chunks,
	        units_bytes(delta->chunk_bytes).text, units_bytes(delta->differing_chunk_bytes).text);
	if (delta->doubtful_groups)
		fprintf(stream, "  %" PRIu64 " group%s without a right bitmap: all blocks count as in use\n",
		        delta->doubtful_groups, units_plural(delta->doubtful_groups));
}

errcode_t form_delta_ranges(void *context, FILE *stream)
{
	const struct delta *delta = context;

	for (size_t n = 0; n < delta->range_count; n++)
		fprintf(stream, "%" PRIu64 " %" PRIu64 "\n", delta->ranges[n].start_bytes, delta->ranges[n].bytes);
	return 0;
}
