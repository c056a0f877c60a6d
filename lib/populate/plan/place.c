// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/plan/place.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/plan/data_runs.h"
#include "populate/plan/long_map.h"
#include "support/work/interrupt.h"
#include "support/vector.h"

/* Where a district's blocks come from: taken in ascending order. */
struct window {
	struct ext2mb_worker *worker;
	uint64_t next;
	uint64_t limit; /* first block that is not its own; 0: none */
};

/* The extents of the file that is being placed. */
struct extent_list {
	struct file_extent *extents;
	size_t count, capacity;
};

struct district {
	uint64_t start, limit;
};

struct placing {
	struct build *build;
	struct district *districts; /* one for each chunk of nodes */
	_Atomic bool *left_over; /* districts that did not fit their window */
};

static errcode_t add_extent(struct extent_list *list, uint32_t logical, uint64_t physical, uint64_t blocks)
{
	struct file_extent *last = list->count ? &list->extents[list->count - 1] : NULL;

	if (last && last->logical + last->count == logical && last->physical + last->count == physical) {
		uint64_t room = FILE_EXTENT_MAX_BLOCKS - last->count, taken = blocks < room ? blocks : room;

		last->count += (uint32_t)taken;
		logical += (uint32_t)taken;
		physical += taken;
		blocks -= taken;
	}
	while (blocks) {
		uint32_t piece = blocks < FILE_EXTENT_MAX_BLOCKS ? (uint32_t)blocks : FILE_EXTENT_MAX_BLOCKS;
		errcode_t error = vector_reserve(&list->extents, &list->capacity, list->count + 1,
		                                 sizeof(*list->extents));
		if (error)
			return error;
		list->extents[list->count++] =
			(struct file_extent){ .logical = logical, .count = piece, .physical = physical };
		logical += piece;
		physical += piece;
		blocks -= piece;
	}
	return 0;
}

static errcode_t take(struct window *window, uint64_t blocks, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = window->next,
		.limit = window->limit,
		.count = blocks,
		.flags = EXT2MB_ALLOC_PACK,
	};

	if (window->limit && window->next >= window->limit)
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = ext2mb_alloc(window->worker, &request, extent);
	if (!error)
		window->next = extent->start + extent->count;
	return error;
}

static errcode_t take_run(const struct build *build, struct window *window, struct extent_list *list,
                          uint32_t logical, uint64_t blocks)
{
	while (blocks) {
		struct ext2mb_extent extent;
		errcode_t error = take(window, build_clusters(build, blocks) << build->format.cluster_bits, &extent);

		if (error)
			return error;
		/* The tail of the last cluster belongs to the file without being mapped. */
		uint64_t mapped = extent.count < blocks ? extent.count : blocks;

		error = add_extent(list, logical, extent.start, mapped);
		if (error)
			return error;
		logical += (uint32_t)mapped;
		blocks -= mapped;
	}
	return 0;
}

/* Turns the list into the node's placement, taking blocks for its map. */
static errcode_t keep_extents(const struct build *build, struct window *window, const struct extent_list *list,
                              struct placement *placement)
{
	uint64_t map_blocks = file_map_blocks(&build->format, list->extents, list->count);

	placement->is_long = map_blocks || list->count > 1 || (list->count && list->extents[0].logical);
	if (!placement->is_long) {
		placement->start = list->count ? list->extents[0].physical : 0;
		return 0;
	}
	struct long_map *map = long_map_create(list->extents, (uint32_t)list->count, (uint32_t)map_blocks);
	if (!map)
		return ENOMEM;
	placement->map = map;
	for (uint32_t block = 0; block < map_blocks; block++) {
		struct ext2mb_extent extent;
		errcode_t error = take(window, 1u << build->format.cluster_bits, &extent);

		if (error)
			return error;
		map->map_blocks[block] = extent.start;
	}
	return 0;
}

/* A run of the node's blocks: what is kept of an earlier image's stays, the rest is taken. *next: the first kept
 * extent that is not used yet; each lies within one run. */
static errcode_t cover_run(const struct build *build, struct window *window, struct extent_list *list,
                           const struct long_map *kept, uint32_t *next, uint32_t logical, uint32_t blocks)
{
	uint64_t end = (uint64_t)logical + blocks;

	for (; kept && *next < kept->extent_count && kept->extents[*next].logical < end; ++*next) {
		const struct file_extent *extent = &kept->extents[*next];
		errcode_t error = take_run(build, window, list, logical, extent->logical - logical);

		if (!error)
			error = add_extent(list, extent->logical, extent->physical, extent->count);
		if (error)
			return error;
		logical = extent->logical + extent->count;
	}
	return take_run(build, window, list, logical, end - logical);
}

static errcode_t collect_extents(const struct build *build, struct window *window, uint32_t number,
                                 struct extent_list *list)
{
	const struct tree_node *node = build_node(build, number);
	const struct long_map *kept = build->kept ? build->kept[number] : NULL;
	struct data_runs runs;
	uint32_t logical, blocks, next = 0;

	if (!S_ISREG(node->mode))
		return cover_run(build, window, list, kept, &next, 0, build->placements[number].blocks);
	data_runs_start(&runs, &build->format, node);
	while (data_runs_next(&runs, &logical, &blocks)) {
		errcode_t error = cover_run(build, window, list, kept, &next, logical, blocks);

		if (error)
			return error;
	}
	return 0;
}

/* Gives back what a node that did not fit has taken. */
static errcode_t give_back(const struct build *build, struct ext2mb_worker *worker, struct placement *placement,
                           const struct extent_list *list)
{
	uint64_t cluster_blocks = 1u << build->format.cluster_bits;

	for (size_t extent = 0; extent < list->count; extent++) {
		errcode_t error = ext2mb_free(worker, list->extents[extent].physical,
		                              build_clusters(build, list->extents[extent].count) * cluster_blocks);
		if (error)
			return error;
	}
	for (uint32_t block = 0; placement->is_long && block < placement->map->map_block_count; block++) {
		errcode_t error = 0;

		if (placement->map->map_blocks[block])
			error = ext2mb_free(worker, placement->map->map_blocks[block], cluster_blocks);
		if (error)
			return error;
	}
	if (placement->is_long)
		free(placement->map);
	placement->is_long = false;
	placement->start = 0;
	return 0;
}

/* A node that did not fit keeps nothing: what its list had not come to is given back as well. */
static errcode_t drop_kept(const struct build *build, struct ext2mb_worker *worker, uint32_t number,
                           const struct extent_list *list)
{
	const struct file_extent *last = list->count ? &list->extents[list->count - 1] : NULL;
	uint64_t end = last ? (uint64_t)last->logical + last->count : 0;
	SCOPE_FREE struct long_map *kept = build->kept ? TAKE(build->kept[number]) : NULL;

	for (uint32_t extent = 0; kept && extent < kept->extent_count; extent++) {
		uint64_t blocks = build_clusters(build, kept->extents[extent].count) << build->format.cluster_bits;

		if (kept->extents[extent].logical < end)
			continue;
		errcode_t error = ext2mb_free(worker, kept->extents[extent].physical, blocks);
		if (error)
			return error;
	}
	return 0;
}

static errcode_t place_node(const struct build *build, struct window *window, uint32_t number,
                            struct extent_list *list)
{
	struct placement *placement = &build->placements[number];

	list->count = 0;
	errcode_t error = collect_extents(build, window, number, list);
	if (!error)
		error = keep_extents(build, window, list, placement);
	if (error == EXT2MB_ET_NO_SPACE) {
		errcode_t freeing = give_back(build, window->worker, placement, list);

		if (!freeing)
			freeing = drop_kept(build, window->worker, number, list);
		if (freeing)
			return freeing;
	}
	return error;
}

/*
 * Places the district's nodes that have no place yet: directories and symlinks first, so that a walk over
 * the tree finds them together, then the data of files. *full: a node did not fit.
 */
static errcode_t place_district(struct build *build, uint32_t district, struct window *window, bool *full,
                                struct problem *problem)
{
	uint32_t first = district * NODES_PER_CHUNK, end = first + NODES_PER_CHUNK;
	struct extent_list list = { 0 };
	errcode_t error = 0;

	*full = false;
	if (end > build->tree->node_count)
		end = build->tree->node_count;
	for (int files = 0; !error && files < 2; files++) {
		for (uint32_t node = first; !error && node < end; node++) {
			const struct placement *placement = &build->placements[node];

			if (S_ISREG(build_node(build, node)->mode) != files || !placement->blocks ||
			    placement->is_long || placement->start || tree_node_is_link(build->tree, node))
				continue;
			error = place_node(build, window, node, &list);
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

static errcode_t place_window(void *context, unsigned int worker, size_t district, struct problem *problem)
{
	const struct placing *placing = context;
	struct window window = {
		.worker = placing->build->workers[worker],
		.next = placing->districts[district].start,
		.limit = placing->districts[district].limit,
	};
	bool full;

	if (interrupt_pending())
		return EINTR;
	errcode_t error = place_district(placing->build, (uint32_t)district, &window, &full, problem);
	atomic_store_explicit(&placing->left_over[district], full, memory_order_relaxed);
	return error;
}

/* Walks the free space and gives each district as much of it as it needs. */
static errcode_t cut_windows(const struct build *build, const struct needs *needs, struct district *districts)
{
	struct ext2mb_extent free_run = { 0 };
	uint32_t districts_count = build_chunk_count(build);

	for (uint32_t district = 0; district < districts_count; district++) {
		uint64_t wanted = needs->chunk_clusters[district] << build->format.cluster_bits;

		districts[district].start = districts[district].limit = free_run.start;
		while (wanted) {
			if (!free_run.count) {
				errcode_t error = ext2mb_next_free(build->mb, free_run.start, &free_run);

				if (error)
					return error;
				if (districts[district].limit == districts[district].start)
					districts[district].start = free_run.start;
			}
			uint64_t taken = wanted < free_run.count ? wanted : free_run.count;

			free_run.start += taken;
			free_run.count -= taken;
			wanted -= taken;
			districts[district].limit = free_run.start;
		}
	}
	return 0;
}

static errcode_t place_left_over(struct build *build, const struct placing *placing)
{
	errcode_t error = ext2mb_commit(build->mb);
	struct window window = { .worker = build->workers[0] };
	bool full = false;

	if (error)
		return problem_set(build->problem, error, NULL, "cannot plan the image");
	for (uint32_t district = 0; !error && !full && district < build_chunk_count(build); district++)
		if (atomic_load_explicit(&placing->left_over[district], memory_order_relaxed))
			error = place_district(build, district, &window, &full, build->problem);
	if (!error && full)
		error = EXT2MB_ET_NO_SPACE;
	return error;
}

errcode_t place_blocks(struct build *build, const struct needs *needs)
{
	uint32_t count = build_chunk_count(build);
	SCOPE_FREE struct district *districts = calloc(count, sizeof(*districts));
	SCOPE_FREE _Atomic bool *left_over = calloc(count, sizeof(*left_over));
	struct placing placing = { build, districts, left_over };

	if (!districts || !left_over)
		return problem_set(build->problem, ENOMEM, NULL, "cannot plan the image");
	errcode_t error = cut_windows(build, needs, districts);
	if (!error)
		error = pool_run(build->pool, count, place_window, &placing, build->problem);
	if (!error)
		error = place_left_over(build, &placing);
	if (error == EXT2MB_ET_NO_SPACE)
		return problem_set_reason(build->problem, error, build->options->image, "cannot place all files",
		                          "the filesystem is too small; a larger size is needed");
	return error ? problem_set(build->problem, error, build->options->image, "cannot plan the image") : 0;
}

void place_release(struct build *build)
{
	for (uint32_t node = 0; build->placements && node < build->tree->node_count; node++)
		if (build->placements[node].is_long)
			free(build->placements[node].map);
}
