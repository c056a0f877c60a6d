/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/figures.h"

#include <assert.h>
#include <string.h>

#include "analyze/report/verdict.h"

const struct figure figures[FIGURE_COUNT] = {
	{ "free_kb", "Free space (KiB)", FIGURE_ONE, true, "free.blocks", NULL, 0, FIGURE_ANY, false },
	{ "free_extents", "Free extents", FIGURE_ONE, false, "free.extents", NULL, 0, FIGURE_LOW, false },
	{ "free_avg_kb", "Mean free extent (KiB)", FIGURE_QUOTIENT, true, "free.blocks", "free.extents", 1, FIGURE_HIGH,
	  false },
	{ "free_median_kb", "Median free extent (KiB)", FIGURE_ONE, false, "free.median_kb", NULL, 0, FIGURE_HIGH,
	  false },
	{ "free_weighted_median_kb", "Half is in extents of (KiB)", FIGURE_ONE, false, "free.weighted_median_kb", NULL,
	  0, FIGURE_HIGH, false },
	{ "free_max_kb", "Largest free extent (KiB)", FIGURE_ONE, false, "free.max_kb", NULL, 0, FIGURE_HIGH, false },
	{ "files", "Files with blocks", FIGURE_ONE, false, "files.count", NULL, 0, FIGURE_ANY, true },
	{ "files_kb", "Blocks of files (KiB)", FIGURE_ONE, true, "files.blocks", NULL, 0, FIGURE_ANY, true },
	{ "extents", "Extents of files", FIGURE_ONE, false, "files.extents", NULL, 0, FIGURE_LOW, true },
	{ "avg_extents", "Extents per file", FIGURE_QUOTIENT, false, "files.extents", "files.count", 3, FIGURE_LOW,
	  true },
	{ "avg_extent_kb", "Mean extent (KiB)", FIGURE_QUOTIENT, true, "files.blocks", "files.extents", 1, FIGURE_HIGH,
	  true },
	{ "fragmented_files", "Files in too many extents", FIGURE_ONE, false, "files.fragmented_files", NULL, 0,
	  FIGURE_LOW, true },
	{ "map_blocks", "Blocks of maps", FIGURE_ONE, false, "files.map_blocks", NULL, 0, FIGURE_LOW, true },
	{ "jumps", "Jumps in reading all files", FIGURE_SUM, false, "files.seeks_inside.jumps",
	  "files.seeks_between.jumps", 0, FIGURE_LOW, true },
	{ "far_jumps", "Far jumps", FIGURE_SUM, false, "files.seeks_inside.far", "files.seeks_between.far", 0,
	  FIGURE_LOW, true },
	{ "backward_jumps", "Backward jumps", FIGURE_SUM, false, "files.seeks_inside.backward",
	  "files.seeks_between.backward", 0, FIGURE_LOW, true },
	{ "directory_extents", "Extents of directories", FIGURE_ONE, false, "directories.extents", NULL, 0, FIGURE_LOW,
	  true },
	/* The last one, see figures_score(). */
	{ "score", "e4defrag's score", FIGURE_SCORE, false, "files.runs", "files.ideal_extents", 1, FIGURE_LOW, true },
};

size_t figures_find(const char *key)
{
	size_t place = 0;

	while (strcmp(figures[place].key, key)) {
		place++;
		assert(place < FIGURE_COUNT);
	}
	return place;
}

double figure_value(const struct figure *figure, double first, double second, double file_blocks,
                    double block_kilobytes)
{
	double unit = figure->is_in_blocks ? block_kilobytes : 1;

	switch (figure->rule) {
	case FIGURE_SUM:
		return (first + second) * unit;
	case FIGURE_QUOTIENT:
		return second > 0 ? first / second * unit : 0;
	case FIGURE_SCORE:
		return score_of((uint64_t)first, (uint64_t)second, (uint64_t)file_blocks);
	default:
		return first * unit;
	}
}

/* Returns a member by the name that form_json() writes. */
static double member_of(const struct report *report, const char *path)
{
	const struct report_sums *regular = &report->files.regular;
	const struct histogram *sizes = &report->free.sizes;
	const uint64_t kilobytes = report->filesystem.block_bytes / 1024;
	const struct {
		const char *path;
		uint64_t value;
	} members[] = {
		{ "free.blocks", sizes->sum },
		{ "free.extents", sizes->count },
		{ "free.median_kb", histogram_percentile(sizes, 50) * kilobytes },
		{ "free.weighted_median_kb", histogram_weighted_percentile(sizes, 50) * kilobytes },
		{ "free.max_kb", sizes->maximum * kilobytes },
		{ "files.count", regular->files },
		{ "files.blocks", regular->counts.blocks },
		{ "files.extents", regular->counts.extents },
		{ "files.fragmented_files", regular->fragmented_files },
		{ "files.map_blocks", regular->map_blocks },
		{ "files.runs", regular->counts.runs },
		{ "files.ideal_extents", regular->ideal_extents },
		{ "files.seeks_inside.jumps", regular->counts.seeks.jumps },
		{ "files.seeks_inside.far", regular->counts.seeks.far },
		{ "files.seeks_inside.backward", regular->counts.seeks.backward },
		{ "files.seeks_between.jumps", report->files.between.jumps },
		{ "files.seeks_between.far", report->files.between.far },
		{ "files.seeks_between.backward", report->files.between.backward },
		{ "directories.extents", report->directories.sums.counts.extents },
	};
	size_t member = 0;

	while (strcmp(members[member].path, path)) {
		member++;
		assert(member < sizeof(members) / sizeof(*members));
	}
	return (double)members[member].value;
}

void figures_compute(const struct report *report, struct figure_values *values)
{
	*values = (struct figure_values){
		.target = report->filesystem.target,
		.verdict = verdict_words(report->verdict.kind),
		.damage_count = report->damage.count,
		.has_free_space = true,
		.has_files = true,
	};
	for (size_t n = 0; n < FIGURE_COUNT; n++) {
		const struct figure *figure = &figures[n];

		values->values[n] = figure_value(figure, member_of(report, figure->first),
		                                 figure->second ? member_of(report, figure->second) : 0,
		                                 (double)report->files.regular.counts.blocks,
		                                 report->filesystem.block_bytes / 1024.0);
	}
}

double figures_score(const struct figure_values *values)
{
	return values->values[FIGURE_COUNT - 1];
}
