/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/node_placement.h"

#include <errno.h>

bool node_is_unplaced(const struct plan *plan, uint32_t number)
{
	const struct placement *placement = &plan->placements[number];

	return placement->blocks && !placement->has_extent_map && !placement->start &&
	       !tree_node_is_link(plan->source->tree, number);
}

/* Turns the list into the node's placement. The blocks of its map are not known yet. */
static errcode_t set_placement(const struct plan *plan, const struct extent_list *list, struct placement *placement)
{
	uint64_t map_blocks = file_map_blocks(&plan->format, list->extents, list->count);

	placement->has_extent_map =
		map_blocks || list->count > 1 ||
		(list->count && (list->extents[0].logical || file_extent_is_unwritten(&list->extents[0])));
	if (!placement->has_extent_map) {
		placement->start = list->count ? list->extents[0].physical : 0;
		return 0;
	}
	placement->map = extent_map_create(list, (uint32_t)map_blocks);
	if (placement->map)
		return 0;
	placement->has_extent_map = false;
	return ENOMEM;
}

errcode_t node_place_map(const struct plan *plan, struct pack_range *range, uint32_t number)
{
	const struct placement *placement = &plan->placements[number];

	if (!placement->has_extent_map)
		return 0;
	return plan_alloc_clusters(plan, range, placement->map->map_blocks, placement->map->map_block_count);
}

/*
 * Covers a run of the node's blocks: those kept of an earlier image stay, the others are taken. *next is the first kept
 * extent that is not used yet; each lies within one run.
 */
static errcode_t cover_run(const struct plan *plan, struct pack_range *range, struct extent_list *list,
                           const struct extent_map *kept, uint32_t *next, uint32_t logical, uint32_t blocks)
{
	uint64_t end = (uint64_t)logical + blocks;

	for (; kept && *next < kept->extent_count && kept->extents[*next].logical < end; ++*next) {
		const struct file_extent *extent = &kept->extents[*next];
		errcode_t error = plan_alloc_blocks(plan, range, list, logical, extent->logical - logical);

		if (!error)
			error = extent_list_add(list, extent->logical, extent->physical, file_extent_blocks(extent));
		if (error)
			return error;
		logical = extent->logical + file_extent_blocks(extent);
	}
	return plan_alloc_blocks(plan, range, list, logical, end - logical);
}

/* Leaves so many blocks free. They can be taken again after the next commit. */
static errcode_t leave_free(struct pack_range *range, uint64_t blocks)
{
	while (blocks) {
		struct ext2mb_extent extent;
		errcode_t error = pack_range_alloc(range, blocks, &extent);

		if (!error)
			error = ext2mb_free(range->worker, extent.start, extent.count);
		if (error)
			return error;
		blocks -= extent.count;
	}
	return 0;
}

/* gaps: those that the blocks follow; NULL: none. */
static errcode_t collect_extents(const struct plan *plan, struct pack_range *range, uint32_t number,
                                 struct hidden_gaps *gaps, struct extent_list *list)
{
	const struct extent_map *kept = plan->reused ? plan->reused[number] : NULL;
	struct block_runs runs;
	uint32_t logical, blocks, next = 0;
	errcode_t error = 0;

	list->count = 0;
	list->unit = 1u << plan->format.cluster_bits;
	plan_start_runs(plan, number, &runs);
	while (!error && block_runs_next(&runs, &logical, &blocks)) {
		uint64_t gap = 0;

		list->is_unwritten = runs.is_unwritten;
		if (gaps && !runs.is_unwritten)
			error = hidden_gaps_before(gaps, number, logical, blocks, &gap);
		if (!error)
			error = leave_free(range, gap);
		if (!error)
			error = cover_run(plan, range, list, kept, &next, logical, blocks);
	}
	return error;
}

/* Gives back the clusters of those extents that begin at or after logical block `from`. */
static errcode_t free_extents(const struct plan *plan, struct ext2mb_worker *worker, const struct file_extent *extents,
                              size_t count, uint64_t from)
{
	errcode_t error = 0;

	for (size_t extent = 0; !error && extent < count; extent++) {
		uint64_t blocks = plan_clusters(plan, file_extent_blocks(&extents[extent]))
		                  << plan->format.cluster_bits;

		if (extents[extent].logical >= from)
			error = ext2mb_free(worker, extents[extent].physical, blocks);
	}
	return error;
}

/* Gives back the blocks of a node that did not fit. */
static errcode_t give_back(const struct plan *plan, struct ext2mb_worker *worker, struct placement *placement,
                           const struct extent_list *list)
{
	SCOPE_FREE struct extent_map *map = placement->has_extent_map ? placement->map : NULL;
	errcode_t error = free_extents(plan, worker, list->extents, list->count, 0);

	for (uint32_t block = 0; !error && map && block < map->map_block_count; block++)
		if (map->map_blocks[block])
			error = ext2mb_free(worker, map->map_blocks[block], 1u << plan->format.cluster_bits);
	placement->has_extent_map = false;
	placement->start = 0;
	return error;
}

/* A node that did not fit keeps nothing: the kept extents that its list had not reached are given back as well. */
static errcode_t drop_kept(const struct plan *plan, struct ext2mb_worker *worker, uint32_t number,
                           const struct extent_list *list)
{
	const struct file_extent *last = list->count ? &list->extents[list->count - 1] : NULL;
	SCOPE_FREE struct extent_map *kept = plan->reused ? TAKE(plan->reused[number]) : NULL;

	return kept ? free_extents(plan, worker, kept->extents, kept->extent_count,
	                           last ? (uint64_t)last->logical + file_extent_blocks(last) : 0) :
	              0;
}

/* Gives back all of a node that did not fit, if it did not. */
static errcode_t settle(const struct plan *plan, struct ext2mb_worker *worker, uint32_t number,
                        const struct extent_list *list, errcode_t error)
{
	if (error != EXT2MB_ET_NO_SPACE)
		return error;
	errcode_t freeing = give_back(plan, worker, &plan->placements[number], list);

	if (!freeing)
		freeing = drop_kept(plan, worker, number, list);
	return freeing ? freeing : error;
}

errcode_t node_place(const struct plan *plan, struct pack_range *range, uint32_t number, struct extent_list *list)
{
	errcode_t error = collect_extents(plan, range, number, NULL, list);

	if (!error)
		error = set_placement(plan, list, &plan->placements[number]);
	if (!error)
		error = node_place_map(plan, range, number);
	return settle(plan, range->worker, number, list, error);
}

errcode_t node_place_contents(const struct plan *plan, struct pack_range *range, uint32_t number,
                              struct hidden_gaps *gaps, struct extent_list *list)
{
	errcode_t error = collect_extents(plan, range, number, gaps, list);

	if (!error)
		error = set_placement(plan, list, &plan->placements[number]);
	return settle(plan, range->worker, number, list, error);
}

errcode_t node_pass_clusters(const struct plan *plan, struct pack_range *range, uint64_t clusters)
{
	errcode_t error = 0;

	for (uint64_t left = clusters << plan->format.cluster_bits; !error && left;) {
		struct ext2mb_extent extent;

		error = pack_range_alloc(range, left, &extent);
		left -= error ? 0 : extent.count;
	}
	return error;
}

errcode_t node_pass(const struct plan *plan, struct pack_range *range, uint32_t number, struct extent_list *list)
{
	errcode_t error = collect_extents(plan, range, number, NULL, list);

	return error ? error :
	               node_pass_clusters(plan, range, file_map_blocks(&plan->format, list->extents, list->count));
}
