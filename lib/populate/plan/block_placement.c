/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/block_placement.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/plan/block_runs.h"
#include "populate/plan/space_estimate.h"
#include "support/run/interrupt.h"

/* Turns the list into the node's placement, and takes blocks for its map. */
static errcode_t set_placement(const struct plan *plan, struct pack_range *range, const struct extent_list *list,
                               struct placement *placement)
{
	uint64_t map_blocks = file_map_blocks(&plan->format, list->extents, list->count);

	placement->has_extent_map = map_blocks || list->count > 1 || (list->count && list->extents[0].logical);
	if (!placement->has_extent_map) {
		placement->start = list->count ? list->extents[0].physical : 0;
		return 0;
	}
	placement->map = extent_map_create(list, (uint32_t)map_blocks);
	return placement->map ? plan_alloc_clusters(plan, range, placement->map->map_blocks, map_blocks) : ENOMEM;
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
			error = extent_list_add(list, extent->logical, extent->physical, extent->count);
		if (error)
			return error;
		logical = extent->logical + extent->count;
	}
	return plan_alloc_blocks(plan, range, list, logical, end - logical);
}

static errcode_t collect_extents(const struct plan *plan, struct pack_range *range, uint32_t number,
                                 struct extent_list *list)
{
	const struct extent_map *kept = plan->reused ? plan->reused[number] : NULL;
	struct block_runs runs;
	uint32_t logical, blocks, next = 0;

	block_runs_start_counted(&runs, plan, number);
	while (block_runs_next(&runs, &logical, &blocks)) {
		errcode_t error = cover_run(plan, range, list, kept, &next, logical, blocks);

		if (error)
			return error;
	}
	return 0;
}

/* Gives back the clusters of those extents that begin at or after logical block `from`. */
static errcode_t free_extents(const struct plan *plan, struct ext2mb_worker *worker, const struct file_extent *extents,
                              size_t count, uint64_t from)
{
	errcode_t error = 0;

	for (size_t extent = 0; !error && extent < count; extent++) {
		uint64_t blocks = plan_clusters(plan, extents[extent].count) << plan->format.cluster_bits;

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
	                           last ? (uint64_t)last->logical + last->count : 0) :
	              0;
}

/* Passes by this many clusters, in a range that takes nothing. */
static errcode_t pass_clusters(const struct plan *plan, struct pack_range *range, uint64_t clusters)
{
	errcode_t error = 0;

	for (uint64_t left = clusters << plan->format.cluster_bits; !error && left;) {
		struct ext2mb_extent extent;

		error = pack_range_alloc(range, left, &extent);
		left -= error ? 0 : extent.count;
	}
	return error;
}

static errcode_t place_node(const struct plan *plan, struct pack_range *range, uint32_t number,
                            struct extent_list *list)
{
	struct placement *placement = &plan->placements[number];

	list->count = 0;
	errcode_t error = collect_extents(plan, range, number, list);
	if (!error)
		error = set_placement(plan, range, list, placement);
	if (error == EXT2MB_ET_NO_SPACE) {
		errcode_t freeing = give_back(plan, range->worker, placement, list);

		if (!freeing)
			freeing = drop_kept(plan, range->worker, number, list);
		if (freeing)
			return freeing;
	}
	return error;
}

/* Moves on in the range as if the node were placed there. */
static errcode_t pass_node(const struct plan *plan, struct pack_range *range, uint32_t number, struct extent_list *list)
{
	list->count = 0;
	errcode_t error = collect_extents(plan, range, number, list);

	return error ? error : pass_clusters(plan, range, file_map_blocks(&plan->format, list->extents, list->count));
}

/*
 * Places those nodes of the district that have no place yet. Directories and symlinks come first, so that a walk over
 * the tree finds them together; the data of files follow. *full: a node did not fit. A range that takes nothing is gone
 * through in the same way.
 */
static errcode_t place_district(struct plan *plan, size_t district, struct pack_range *range, bool *full,
                                struct problem *problem)
{
	struct node_range nodes = node_part(plan->source->tree, NODES_PER_DISTRICT, district);
	struct extent_list list = { 0 };
	errcode_t error = 0;

	*full = false;
	for (int files = 0; !error && files < 2; files++) {
		for (uint32_t node = nodes.first; !error && node < nodes.end; node++) {
			const struct placement *placement = &plan->placements[node];

			if (S_ISREG(plan_node(plan, node)->mode) != files || !placement->blocks ||
			    placement->has_extent_map || placement->start ||
			    tree_node_is_link(plan->source->tree, node))
				continue;
			error = range->worker ? place_node(plan, range, node, &list) :
			                        pass_node(plan, range, node, &list);
			if (error == EXT2MB_ET_NO_SPACE) {
				*full = true;
				error = 0;
			}
			if (error)
				plan_node_problem(plan, problem, node, error, "cannot place its blocks");
		}
	}
	free(list.extents);
	return error;
}

/* State that the tasks share. */
struct placing {
	struct plan *plan;
	const struct filesystem *filesystem;
};

static errcode_t fill_district(void *context, unsigned int worker, size_t number, struct problem *problem)
{
	const struct placing *placing = context;
	struct plan *plan = placing->plan;
	struct district *district = &plan->space.districts[number];
	struct pack_range range = {
		.worker = placing->filesystem->workers[worker],
		.next = district->start,
		.limit = district->limit,
	};

	if (interrupt_pending())
		return EINTR;
	errcode_t error = place_district(plan, number, &range, &district->has_left_over, problem);

	if (error)
		return error;
	error = pack_range_end(&range);
	return error ? problem_set(problem, error, NULL, "cannot plan the image") : 0;
}

/* Returns how many clusters a district needs beside those that it keeps of an earlier image. */
static uint64_t wanted_clusters(const struct plan *plan, uint32_t district)
{
	struct node_range nodes = node_part(plan->source->tree, NODES_PER_DISTRICT, district);
	uint64_t wanted = plan->space.districts[district].clusters, reused = 0;

	for (uint32_t node = nodes.first; plan->reused && node < nodes.end; node++) {
		const struct extent_map *map = plan->reused[node];

		for (uint32_t extent = 0; map && extent < map->extent_count; extent++)
			reused += plan_clusters(plan, map->extents[extent].count);
	}
	return wanted > reused ? wanted - reused : 0;
}

/*
 * Walks the free space and gives each district as much of it as it needs, so that no free block is left between two
 * districts.
 */
static errcode_t cut_districts(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	struct pack_range range = { .mb = filesystem->mb };

	for (uint32_t number = 0; number < district_count(plan); number++) {
		struct district *district = &plan->space.districts[number];
		errcode_t error;
		bool full = false;

		district->start = range.next;
		if (district->is_bound)
			error = place_district(plan, number, &range, &full, work->problem);
		else
			error = pass_clusters(plan, &range, wanted_clusters(plan, number));
		if (error || full)
			return error ? error : EXT2MB_ET_NO_SPACE;
		district->limit = range.next;
	}
	return 0;
}

static errcode_t place_left_over(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	errcode_t error = ext2mb_commit(filesystem->mb);
	struct pack_range range = { .worker = filesystem->workers[0] };
	bool full = false;

	if (error)
		return problem_set(work->problem, error, NULL, "cannot plan the image");
	for (uint32_t number = 0; !error && !full && number < district_count(plan); number++)
		if (plan->space.districts[number].has_left_over)
			error = place_district(plan, number, &range, &full, work->problem);
	if (!error && full)
		error = EXT2MB_ET_NO_SPACE;
	return error;
}

errcode_t block_placement_decide(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	struct placing placing = { plan, filesystem };
	errcode_t error = cut_districts(plan, filesystem, work);

	if (!error)
		error = pool_run(work->pool, district_count(plan), fill_district, &placing, work->problem);
	if (!error)
		error = place_left_over(plan, filesystem, work);
	if (error == EXT2MB_ET_NO_SPACE)
		return problem_set_reason(work->problem, error, plan->options->image, "cannot place all files",
		                          "the filesystem is too small; a larger size is needed");
	return workplace_result(work, error, "cannot plan the image");
}

void block_placement_release(struct plan *plan)
{
	for (uint32_t node = 0; plan->placements && node < plan->source->tree->node_count; node++)
		if (plan->placements[node].has_extent_map)
			free(plan->placements[node].map);
}
