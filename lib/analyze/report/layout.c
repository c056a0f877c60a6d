/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/layout.h"

void seek_count(struct seek_counts *seeks, uint64_t from, uint64_t to, uint64_t far_blocks)
{
	if (from == to)
		return;
	seeks->jumps++;
	seeks->far += (from < to ? to - from : from - to) > far_blocks;
	seeks->backward += to < from;
}

void counts_add(void *to, const void *from, size_t bytes)
{
	uint64_t *sums = to;
	const uint64_t *more = from;

	for (size_t n = 0; n < bytes / sizeof(*sums); n++)
		sums[n] += more[n];
}

/* An indirect map has its blocks between the file's: at most one of each level. */
#define MAP_STEP_BLOCKS 3

/* filefrag's rule: the record continues if it is next on the disk, or as far on as in the file, since the file may
 * once have had no hole there. */
static bool goes_on(const struct map_record *last, const struct map_record *record)
{
	return record->physical == last->physical + last->count ||
	       record->physical == last->physical + (record->logical - last->logical);
}

static void begin_extent(struct file_layout *layout, struct histogram *sizes)
{
	if (layout->run_blocks && sizes)
		histogram_add(sizes, layout->run_blocks);
	layout->counts.extents++;
	layout->run_blocks = 0;
}

void layout_add(struct file_layout *layout, const struct map_record *record, uint64_t far_blocks,
                struct histogram *sizes)
{
	const struct map_record *last = &layout->last;
	uint64_t logical_end = layout->counts.records ? last->logical + last->count : 0;
	bool is_next = record->logical == logical_end;

	layout->counts.holes += !is_next;
	if (!layout->counts.records) {
		layout->first_physical = record->physical;
		layout->counts.runs++;
		begin_extent(layout, sizes);
	} else {
		uint64_t physical_end = last->physical + last->count;

		layout->counts.runs +=
			!is_next || record->physical != physical_end || record->is_unwritten != last->is_unwritten;
		layout->cuts += is_next && record->physical != physical_end;
		layout->short_cuts += is_next && record->physical > physical_end &&
		                      record->physical <= physical_end + MAP_STEP_BLOCKS;
		seek_count(&layout->counts.seeks, physical_end, record->physical, far_blocks);
		if (!goes_on(last, record))
			begin_extent(layout, sizes);
	}
	layout->counts.records++;
	layout->counts.blocks += record->count;
	layout->run_blocks += record->count;
	if (record->is_unwritten) {
		layout->counts.unwritten_records++;
		layout->counts.unwritten_blocks += record->count;
	}
	layout->last = *record;
}

void layout_end(struct file_layout *layout, struct histogram *sizes)
{
	if (layout->run_blocks && sizes)
		histogram_add(sizes, layout->run_blocks);
	layout->run_blocks = 0;
}
