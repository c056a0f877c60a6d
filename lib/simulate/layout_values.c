// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/layout_values.h"

#include "analyze/score.h"

struct file_totals {
	uint64_t files; /* with blocks */
	uint64_t blocks, extents, pieces, most_pieces, ideal, map_blocks;
	uint64_t scored_blocks, scored_pieces; /* of files with more than a block, as e4defrag looks at them */
};

struct free_totals {
	uint64_t blocks, extents;
};

static void count_file(const struct simulated_file *file, uint64_t span_blocks, struct file_totals *totals)
{
	uint64_t pieces = simulated_file_pieces(file);

	if (!file->ino || !file->blocks)
		return;
	totals->files++;
	totals->blocks += file->blocks;
	totals->extents += file->extent_count;
	totals->pieces += pieces;
	totals->map_blocks += file->map_count;
	if (pieces > totals->most_pieces)
		totals->most_pieces = pieces;
	if (file->blocks > 1) {
		totals->ideal += score_ideal(file->blocks, span_blocks);
		totals->scored_blocks += file->blocks;
		totals->scored_pieces += pieces;
	}
}

static void count_set(const struct file_set *set, uint64_t span_blocks, struct file_totals *totals)
{
	for (size_t index = 0; index < set->count; index++)
		count_file(&set->files[index], span_blocks, totals);
	for (const struct file_set *child = set->first; child; child = child->next)
		count_set(child, span_blocks, totals);
}

/* Runs that touch across groups are one, as e2freefrag has it. */
static errcode_t count_free(struct ext2mb *mb, struct free_totals *totals)
{
	struct ext2mb_extent extent = { 0 };
	uint64_t end = 0;

	for (;;) {
		errcode_t error = ext2mb_next_free(mb, end, &extent);

		if (error == EXT2MB_ET_NO_SPACE)
			return 0;
		if (error)
			return error;
		totals->extents += !totals->blocks || extent.start != end;
		totals->blocks += extent.count;
		end = extent.start + extent.count;
	}
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

errcode_t layout_values_add(struct simulation *simulation, const char *section)
{
	const struct image *image = simulation->image;
	uint64_t span_blocks = (uint64_t)image->blocks_per_group * image->flex_groups;
	double block_kib = image->format.block_bytes / 1024.0;
	struct file_totals files = { 0 };
	struct free_totals space = { 0 };
	errcode_t error = ext2mb_commit(image->mb);

	if (!error)
		error = count_free(image->mb, &space);
	if (error)
		return problem_set(simulation->problem, error, image->path, "cannot count its free space");
	if (image->files)
		count_set(image->files, span_blocks, &files);
	const struct result_value values[] = {
		{ section, "free_avg_kb", "Avg. free extent size (KB)", RESULT_LAYOUT,
		  ratio(space.blocks, space.extents) * block_kib, 0 },
		{ section, "free_extents", "Num. free extent", RESULT_LAYOUT, (double)space.extents, 0 },
		{ section, "extents_per_file", "Avg. extents per file", RESULT_LAYOUT, ratio(files.pieces, files.files),
		  1 },
		{ section, "most_extents", "Most extents of a file", RESULT_LAYOUT, (double)files.most_pieces, 0 },
		{ section, "extent_avg_kb", "Avg. size per extent (KB)", RESULT_LAYOUT,
		  ratio(files.blocks, files.pieces) * block_kib, 0 },
		{ section, "score", "Fragmentation score", RESULT_LAYOUT,
		  score_of(files.scored_pieces, files.ideal, files.scored_blocks), 0 },
		{ section, "files", "Files with blocks", RESULT_LAYOUT, (double)files.files, 0 },
		{ section, "blocks", "Blocks of files", RESULT_LAYOUT, (double)files.blocks, 0 },
		{ section, "tree_extents", "Extents in extent trees", RESULT_LAYOUT, (double)files.extents, 0 },
		{ section, "map_blocks", "Blocks of extent trees", RESULT_LAYOUT, (double)files.map_blocks, 0 },
	};

	for (size_t index = 0; index < sizeof(values) / sizeof(*values); index++)
		result_add(simulation->result, &values[index]);
	return 0;
}
