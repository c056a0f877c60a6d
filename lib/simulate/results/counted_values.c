/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/results/counted_values.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/report.h"
#include "allocator/core/allocator.h"
#include "allocator/preallocation/preallocation_register.h"
#include "ondisk/file_map.h"
#include "support/histogram.h"

/* --- Layouts ------------------------------------------------------------------------------------------------ */

struct file_totals {
	uint64_t files; /* with blocks */
	uint64_t blocks, extents, pieces, most_pieces, ideal, map_blocks;
	uint64_t scored_blocks, scored_pieces; /* of files with more than a block, as in e4defrag */
};

static void count_file(const struct image *image, const struct simulated_file *file, struct file_totals *totals)
{
	uint64_t span_blocks = geometry_to_blocks(&image->geometry, (uint64_t)image->geometry.clusters_per_group *
	                                                                    image->geometry.flex_groups);
	struct ext2mb_extent run;
	uint64_t pieces = 0;

	if (!file->ino || !file->blocks)
		return;
	for (size_t index = 0; simulated_file_next_run(file, &index, &run);)
		pieces++;
	totals->files++;
	totals->blocks += file->blocks;
	totals->extents += file->map.count;
	totals->pieces += pieces;
	totals->map_blocks += file_map_blocks(&image->format, file->map.extents, file->map.count);
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

/* Joins runs that touch across groups, as e2freefrag does. */
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

errcode_t space_values_add(struct simulation *simulation, const char *section)
{
	const struct image *image = simulation->image;
	double block_kib = image->format.block_bytes / 1024.0;
	SCOPE_FREE struct histogram *space = calloc(1, sizeof(*space));
	errcode_t error = space ? ext2mb_commit(image->mb) : ENOMEM;

	/* Preallocated blocks belong to no file yet: on disk they are free. */
	preallocation_register_give_back(image->mb, &image->mb->closed_stats, NULL);
	if (!error)
		error = count_free(image->mb, space);
	if (error)
		return problem_set(simulation->problem, error, image->path, "cannot count its free space");
	result_add(simulation->result, section, RESULT_LAYOUT,
	           (const struct named_value[]){
			   { "free_avg_kb", "Avg. free extent size (KB)", histogram_mean(space) * block_kib, 0 },
			   { "free_median_kb", "Median free extent size (KB)",
	                     (double)histogram_percentile(space, 50) * block_kib, 0 },
			   { "free_extents", "Num. free extent", (double)space->count, 0 },
			   { 0 },
		   });
	return 0;
}

errcode_t layout_values_add(struct simulation *simulation, const char *section, const struct file_set *set)
{
	const struct image *image = simulation->image;
	double block_kib = image->format.block_bytes / 1024.0;
	struct file_totals files = { 0 };
	errcode_t error = space_values_add(simulation, section);

	if (error)
		return error;
	if (set)
		count_set(image, set, &files);
	result_add(simulation->result, section, RESULT_LAYOUT,
	           (const struct named_value[]){
			   { "extents_per_file", "Avg. extents per file", report_ratio(files.pieces, files.files), 1 },
			   { "most_extents", "Most extents of a file", (double)files.most_pieces, 0 },
			   { "extent_avg_kb", "Avg. size per extent (KB)",
	                     report_ratio(files.blocks, files.pieces) * block_kib, 0 },
			   { "score", "Fragmentation score",
	                     score_of(files.scored_pieces, files.ideal, files.scored_blocks), 0 },
			   { "files", "Files with blocks", (double)files.files, 0 },
			   { "blocks", "Blocks of files", (double)files.blocks, 0 },
			   { "tree_extents", "Extents in extent trees", (double)files.extents, 0 },
			   { "map_blocks", "Blocks of extent trees", (double)files.map_blocks, 0 },
			   { 0 },
		   });
	return 0;
}

/* --- Stripes ------------------------------------------------------------------------------------------------ */

static uint64_t partial_of(const struct ext2mb_extent *run, uint32_t stripe_blocks)
{
	uint64_t end = run->start + run->count;
	bool begins_within = run->start % stripe_blocks, ends_within = end % stripe_blocks;

	if (run->start / stripe_blocks == (end - 1) / stripe_blocks)
		return begins_within || ends_within;
	return (uint64_t)begins_within + ends_within;
}

uint64_t partial_stripes(const struct file_set *set, uint32_t stripe_blocks)
{
	struct ext2mb_extent run;
	uint64_t sum = 0;

	for (size_t file = 0; file < set->count; file++)
		for (size_t index = 0; simulated_file_next_run(&set->files[file], &index, &run);)
			sum += partial_of(&run, stripe_blocks);
	for (const struct file_set *child = set->first; child; child = child->next)
		sum += partial_stripes(child, stripe_blocks);
	return sum;
}

/* --- The allocator ------------------------------------------------------------------------------------------ */

errcode_t allocator_values_add(struct simulation *simulation, const struct streams_cost *cost)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	errcode_t error = ext2mb_read_stats(simulation->image->mb, &stats);

	if (error)
		return problem_set(simulation->problem, error, simulation->image->path, "cannot read statistics");
	const struct policy_stats policy = policy_read_stats(simulation->image->mb);

	result_add(simulation->result, NULL, RESULT_COUNTED,
	           (const struct named_value[]){
			   { "requests", "Requests", (double)stats.requests, 0 },
			   { "window_hits", "Served from windows", (double)stats.preallocation_hits, 0 },
			   { "goal_hits", "Goal hits", (double)stats.goal_hits, 0 },
			   { "stream_goal_hits", "Stream goal hits", (double)stats.stream_goal_hits, 0 },
			   { "groups_scanned", "Groups scanned", (double)stats.groups_scanned, 0 },
			   { "busy_skips", "Busy groups skipped", (double)stats.busy_skips, 0 },
			   { "busy_waits", "Busy groups waited for", (double)stats.busy_waits, 0 },
			   { "bounces", "Chosen in vain", (double)policy.bounces, 0 },
			   { "lock_waits", "Waits for a lock", (double)cost->lock_waits, 0 },
			   { "global_locks", "Global lock taken", (double)policy.global_locks, 0 },
			   { 0 },
		   });
	return 0;
}
