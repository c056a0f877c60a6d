/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/figures.h"

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

const struct figure figures[FIGURE_COUNT] = {
	{ "free_kb", "Free space (KiB)", free_kilobytes, 0, FIGURE_ANY, false },
	{ "free_extents", "Free extents", free_extents, 0, FIGURE_LOW, false },
	{ "free_avg_kb", "Mean free extent (KiB)", free_mean, 1, FIGURE_HIGH, false },
	{ "free_median_kb", "Median free extent (KiB)", free_median, 0, FIGURE_HIGH, false },
	{ "free_weighted_median_kb", "Half is in extents of (KiB)", free_weighted_median, 0, FIGURE_HIGH, false },
	{ "free_max_kb", "Largest free extent (KiB)", free_largest, 0, FIGURE_HIGH, false },
	{ "files", "Files with blocks", files, 0, FIGURE_ANY, true },
	{ "files_kb", "Blocks of files (KiB)", file_kilobytes, 0, FIGURE_ANY, true },
	{ "extents", "Extents of files", file_extents, 0, FIGURE_LOW, true },
	{ "avg_extents", "Extents per file", extents_per_file, 3, FIGURE_LOW, true },
	{ "avg_extent_kb", "Mean extent (KiB)", extent_kilobytes, 1, FIGURE_HIGH, true },
	{ "fragmented_files", "Files in too many extents", fragmented_files, 0, FIGURE_LOW, true },
	{ "map_blocks", "Blocks of maps", map_blocks, 0, FIGURE_LOW, true },
	{ "jumps", "Jumps in reading all files", jumps, 0, FIGURE_LOW, true },
	{ "far_jumps", "Far jumps", far_jumps, 0, FIGURE_LOW, true },
	{ "backward_jumps", "Backward jumps", backward_jumps, 0, FIGURE_LOW, true },
	{ "directory_extents", "Extents of directories", directory_extents, 0, FIGURE_LOW, true },
	/* The last one, see figures_score(). */
	{ "score", "Score", score, 1, FIGURE_LOW, true },
};

void figures_take(const struct report *report, struct figure_values *values)
{
	*values = (struct figure_values){
		.target = report->filesystem.target,
		.damage_count = report->damage_count,
		.has_free_space = true,
		.has_files = true,
	};
	for (size_t n = 0; n < FIGURE_COUNT; n++)
		values->values[n] = figures[n].value(report);
}

double figures_score(const struct figure_values *values)
{
	return values->values[FIGURE_COUNT - 1];
}
