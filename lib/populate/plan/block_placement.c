/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/block_placement.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/plan/layer_placement.h"
#include "populate/plan/node_placement.h"
#include "populate/plan/space_estimate.h"
#include "support/run/interrupt.h"

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
			if (S_ISREG(plan_node(plan, node)->mode) != files || !node_is_unplaced(plan, node))
				continue;
			error = range->worker ? node_place(plan, range, node, &list) :
			                        node_pass(plan, range, node, &list);
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
			reused += plan_clusters(plan, file_extent_blocks(&map->extents[extent]));
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
			error = node_pass_clusters(plan, &range, wanted_clusters(plan, number));
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

static errcode_t fill_districts(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	struct placing placing = { plan, filesystem };
	errcode_t error = cut_districts(plan, filesystem, work);

	if (!error)
		error = pool_run(work->pool, district_count(plan), fill_district, &placing, work->problem);
	return error ? error : place_left_over(plan, filesystem, work);
}

errcode_t block_placement_decide(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	errcode_t error = plan->options->layout == LAYOUT_LAYERS ? layer_placement_fill(plan, filesystem, work) :
	                                                           fill_districts(plan, filesystem, work);

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
