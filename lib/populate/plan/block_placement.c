/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/block_placement.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/plan/block_runs.h"
#include "populate/plan/space_estimate.h"
#include "support/run/interrupt.h"

/* Turns the list into the node's placement, taking blocks for its map. */
static errcode_t set_placement(const struct build *build, struct pack_range *range, const struct extent_list *list,
                               struct placement *placement)
{
	uint64_t map_blocks = file_map_blocks(&build->format, list->extents, list->count);

	placement->has_extent_map = map_blocks || list->count > 1 || (list->count && list->extents[0].logical);
	if (!placement->has_extent_map) {
		placement->start = list->count ? list->extents[0].physical : 0;
		return 0;
	}
	placement->map = extent_map_create(list, (uint32_t)map_blocks);
	return placement->map ? build_alloc_clusters(build, range, placement->map->map_blocks, map_blocks) : ENOMEM;
}

/* A run of the node's blocks: what is kept of an earlier image's stays, the rest is taken. *next: the first kept
 * extent that is not used yet; each lies within one run. */
static errcode_t cover_run(const struct build *build, struct pack_range *range, struct extent_list *list,
                           const struct extent_map *kept, uint32_t *next, uint32_t logical, uint32_t blocks)
{
	uint64_t end = (uint64_t)logical + blocks;

	for (; kept && *next < kept->extent_count && kept->extents[*next].logical < end; ++*next) {
		const struct file_extent *extent = &kept->extents[*next];
		errcode_t error = build_alloc_blocks(build, range, list, logical, extent->logical - logical);

		if (!error)
			error = extent_list_add(list, extent->logical, extent->physical, extent->count);
		if (error)
			return error;
		logical = extent->logical + extent->count;
	}
	return build_alloc_blocks(build, range, list, logical, end - logical);
}

static errcode_t collect_extents(const struct build *build, struct pack_range *range, uint32_t number,
                                 struct extent_list *list)
{
	const struct extent_map *kept = build->reused ? build->reused[number] : NULL;
	struct block_runs runs;
	uint32_t logical, blocks, next = 0;

	block_runs_start_counted(&runs, build, number);
	while (block_runs_next(&runs, &logical, &blocks)) {
		errcode_t error = cover_run(build, range, list, kept, &next, logical, blocks);

		if (error)
			return error;
	}
	return 0;
}

/* Gives back the clusters of those extents that do not begin before a logical block. */
static errcode_t free_extents(const struct build *build, struct ext2mb_worker *worker,
                              const struct file_extent *extents, size_t count, uint64_t from)
{
	errcode_t error = 0;

	for (size_t extent = 0; !error && extent < count; extent++) {
		uint64_t blocks = build_clusters(build, extents[extent].count) << build->format.cluster_bits;

		if (extents[extent].logical >= from)
			error = ext2mb_free(worker, extents[extent].physical, blocks);
	}
	return error;
}

/* Gives back what a node that did not fit has taken. */
static errcode_t give_back(const struct build *build, struct ext2mb_worker *worker, struct placement *placement,
                           const struct extent_list *list)
{
	SCOPE_FREE struct extent_map *map = placement->has_extent_map ? placement->map : NULL;
	errcode_t error = free_extents(build, worker, list->extents, list->count, 0);

	for (uint32_t block = 0; !error && map && block < map->map_block_count; block++)
		if (map->map_blocks[block])
			error = ext2mb_free(worker, map->map_blocks[block], 1u << build->format.cluster_bits);
	placement->has_extent_map = false;
	placement->start = 0;
	return error;
}

/* A node that did not fit keeps nothing: what its list had not come to is given back as well. */
static errcode_t drop_kept(const struct build *build, struct ext2mb_worker *worker, uint32_t number,
                           const struct extent_list *list)
{
	const struct file_extent *last = list->count ? &list->extents[list->count - 1] : NULL;
	SCOPE_FREE struct extent_map *kept = build->reused ? TAKE(build->reused[number]) : NULL;

	return kept ? free_extents(build, worker, kept->extents, kept->extent_count,
	                           last ? (uint64_t)last->logical + last->count : 0) :
	              0;
}

/* Passes by so many clusters, of a range that takes nothing. */
static errcode_t pass_clusters(const struct build *build, struct pack_range *range, uint64_t clusters)
{
	errcode_t error = 0;

	for (uint64_t left = clusters << build->format.cluster_bits; !error && left;) {
		struct ext2mb_extent extent;

		error = pack_range_alloc(range, left, &extent);
		left -= error ? 0 : extent.count;
	}
	return error;
}

static errcode_t place_node(const struct build *build, struct pack_range *range, uint32_t number,
                            struct extent_list *list)
{
	struct placement *placement = &build->placements[number];

	list->count = 0;
	errcode_t error = collect_extents(build, range, number, list);
	if (!error)
		error = set_placement(build, range, list, placement);
	if (error == EXT2MB_ET_NO_SPACE) {
		errcode_t freeing = give_back(build, range->worker, placement, list);

		if (!freeing)
			freeing = drop_kept(build, range->worker, number, list);
		if (freeing)
			return freeing;
	}
	return error;
}

/* Goes on in the range as if the node were placed there. */
static errcode_t pass_node(const struct build *build, struct pack_range *range, uint32_t number,
                           struct extent_list *list)
{
	list->count = 0;
	errcode_t error = collect_extents(build, range, number, list);

	return error ? error : pass_clusters(build, range, file_map_blocks(&build->format, list->extents, list->count));
}

/*
 * Places the district's nodes that have no place yet: directories and symlinks first, so that a walk over
 * the tree finds them together, then the data of files. *full: a node did not fit. A range that takes nothing is gone
 * through in the same way.
 */
static errcode_t place_district(struct build *build, size_t district, struct pack_range *range, bool *full,
                                struct problem *problem)
{
	struct node_range nodes = build_nodes(build, NODES_PER_DISTRICT, district);
	struct extent_list list = { 0 };
	errcode_t error = 0;

	*full = false;
	for (int files = 0; !error && files < 2; files++) {
		for (uint32_t node = nodes.first; !error && node < nodes.end; node++) {
			const struct placement *placement = &build->placements[node];

			if (S_ISREG(build_node(build, node)->mode) != files || !placement->blocks ||
			    placement->has_extent_map || placement->start || tree_node_is_link(build->tree, node))
				continue;
			error = range->worker ? place_node(build, range, node, &list) :
			                        pass_node(build, range, node, &list);
			if (error == EXT2MB_ET_NO_SPACE) {
				*full = true;
				error = 0;
			}
			if (error)
				build_node_problem(build, problem, node, error, "cannot place its blocks");
		}
	}
	free(list.extents);
	return error;
}

static errcode_t fill_district(void *context, unsigned int worker, size_t number, struct problem *problem)
{
	struct build *build = context;
	struct district *district = &build->space.districts[number];
	struct pack_range range = {
		.worker = build->workers[worker],
		.next = district->start,
		.limit = district->limit,
	};

	if (interrupt_pending())
		return EINTR;
	errcode_t error = place_district(build, number, &range, &district->has_left_over, problem);

	if (error)
		return error;
	error = pack_range_end(&range);
	return error ? problem_set(problem, error, NULL, "cannot plan the image") : 0;
}

/* Clusters that a district needs beside those that it keeps of an earlier image. */
static uint64_t wanted_clusters(const struct build *build, uint32_t district)
{
	struct node_range nodes = build_nodes(build, NODES_PER_DISTRICT, district);
	uint64_t wanted = build->space.districts[district].clusters, reused = 0;

	for (uint32_t node = nodes.first; build->reused && node < nodes.end; node++) {
		const struct extent_map *map = build->reused[node];

		for (uint32_t extent = 0; map && extent < map->extent_count; extent++)
			reused += build_clusters(build, map->extents[extent].count);
	}
	return wanted > reused ? wanted - reused : 0;
}

/* Walks the free space and gives each district as much of it as it needs, so that no free block is left between two. */
static errcode_t cut_districts(struct build *build)
{
	struct pack_range range = { .mb = build->mb };

	for (uint32_t number = 0; number < district_count(build); number++) {
		struct district *district = &build->space.districts[number];
		errcode_t error;
		bool full = false;

		district->start = range.next;
		if (district->is_bound)
			error = place_district(build, number, &range, &full, build->problem);
		else
			error = pass_clusters(build, &range, wanted_clusters(build, number));
		if (error || full)
			return error ? error : EXT2MB_ET_NO_SPACE;
		district->limit = range.next;
	}
	return 0;
}

static errcode_t place_left_over(struct build *build)
{
	errcode_t error = ext2mb_commit(build->mb);
	struct pack_range range = { .worker = build->workers[0] };
	bool full = false;

	if (error)
		return problem_set(build->problem, error, NULL, "cannot plan the image");
	for (uint32_t number = 0; !error && !full && number < district_count(build); number++)
		if (build->space.districts[number].has_left_over)
			error = place_district(build, number, &range, &full, build->problem);
	if (!error && full)
		error = EXT2MB_ET_NO_SPACE;
	return error;
}

errcode_t block_placement_decide(struct build *build)
{
	errcode_t error = cut_districts(build);

	if (!error)
		error = pool_run(build->pool, district_count(build), fill_district, build, build->problem);
	if (!error)
		error = place_left_over(build);
	if (error == EXT2MB_ET_NO_SPACE)
		return problem_set_reason(build->problem, error, build->options->image, "cannot place all files",
		                          "the filesystem is too small; a larger size is needed");
	return build_result(build, error, "cannot plan the image");
}

void block_placement_release(struct build *build)
{
	for (uint32_t node = 0; build->placements && node < build->tree->node_count; node++)
		if (build->placements[node].has_extent_map)
			free(build->placements[node].map);
}
