// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/results/layout_values.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/report.h"
#include "ext2fs/core/allocator.h"
#include "ext2fs/preallocation/preallocation_register.h"
#include "ondisk/file_map.h"
#include "support/histogram.h"

struct file_totals {
	uint64_t files; /* with blocks */
	uint64_t blocks, extents, pieces, most_pieces, ideal, map_blocks;
	uint64_t scored_blocks, scored_pieces; /* of files with more than a block, as e4defrag looks at them */
};

static void count_file(const struct image *image, const struct simulated_file *file, struct file_totals *totals)
{
	uint64_t span_blocks = (uint64_t)image->blocks_per_group * image->flex_groups;
	uint64_t pieces = simulated_file_pieces(file);

	if (!file->ino || !file->blocks)
		return;
	totals->files++;
	totals->blocks += file->blocks;
	totals->extents += file->extent_count;
	totals->pieces += pieces;
	totals->map_blocks += file_map_blocks(&image->format, file->extents, file->extent_count);
	if (pieces > totals->most_pieces)
		totals->most_pieces = pieces;
	if (file->blocks > 1) {
		totals->ideal += score_ideal(file->blocks, span_blocks);
		totals->scored_blocks += file->blocks;
		totals->scored_pieces += pieces;
	}
}

static void count_set(const struct image *image, const struct file_set *set, struct file_totals *totals)
{
	for (size_t index = 0; index < set->count; index++)
		count_file(image, &set->files[index], totals);
	for (const struct file_set *child = set->first; child; child = child->next)
		count_set(image, child, totals);
}

/* Runs that touch across groups are one, as e2freefrag has it. */
static errcode_t count_free(struct ext2mb *mb, struct histogram *free_extents)
{
	struct ext2mb_extent extent = { 0 };
	uint64_t end = 0, run = 0;

	for (;;) {
		errcode_t error = ext2mb_next_free(mb, end, &extent);

		if (error && error != EXT2MB_ET_NO_SPACE)
			return error;
		if (run && (error || extent.start != end)) {
			histogram_add(free_extents, run);
			run = 0;
		}
		if (error)
			return 0;
		run += extent.count;
		end = extent.start + extent.count;
	}
}

errcode_t layout_values_add(struct simulation *simulation, const char *section, const struct file_set *set)
{
	const struct image *image = simulation->image;
	double block_kib = image->format.block_bytes / 1024.0;
	struct file_totals files = { 0 };
	SCOPE_FREE struct histogram *space = calloc(1, sizeof(*space));
	errcode_t error = space ? ext2mb_commit(image->mb) : ENOMEM;

	/* Preallocations belong to no file yet: on disk they would be free. */
	preallocation_register_give_back(image->mb, &image->mb->closed_stats, NULL);
	if (!error)
		error = count_free(image->mb, space);
	if (error)
		return problem_set(simulation->problem, error, image->path, "cannot count its free space");
	if (set)
		count_set(image, set, &files);
	const struct result_value values[] = {
		{ section, "free_avg_kb", "Avg. free extent size (KB)", RESULT_LAYOUT,
		  histogram_mean(space) * block_kib, 0 },
		{ section, "free_median_kb", "Median free extent size (KB)", RESULT_LAYOUT,
		  (double)histogram_percentile(space, 50) * block_kib, 0 },
		{ section, "free_extents", "Num. free extent", RESULT_LAYOUT, (double)space->count, 0 },
		{ section, "extents_per_file", "Avg. extents per file", RESULT_LAYOUT,
		  report_ratio(files.pieces, files.files), 1 },
		{ section, "most_extents", "Most extents of a file", RESULT_LAYOUT, (double)files.most_pieces, 0 },
		{ section, "extent_avg_kb", "Avg. size per extent (KB)", RESULT_LAYOUT,
		  report_ratio(files.blocks, files.pieces) * block_kib, 0 },
		{ section, "score", "Fragmentation score", RESULT_LAYOUT,
		  score_of(files.scored_pieces, files.ideal, files.scored_blocks), 0 },
		{ section, "files", "Files with blocks", RESULT_LAYOUT, (double)files.files, 0 },
		{ section, "blocks", "Blocks of files", RESULT_LAYOUT, (double)files.blocks, 0 },
		{ section, "tree_extents", "Extents in extent trees", RESULT_LAYOUT, (double)files.extents, 0 },
		{ section, "map_blocks", "Blocks of extent trees", RESULT_LAYOUT, (double)files.map_blocks, 0 },
	};

	result_add(simulation->result, values, sizeof(values) / sizeof(*values));
	return 0;
}
