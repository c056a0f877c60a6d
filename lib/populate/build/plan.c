/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/build/plan.h"

#include <errno.h>
#include <string.h>

#include "support/bisect.h"

errcode_t plan_node_problem(const struct plan *plan, struct problem *problem, uint32_t node, errcode_t error,
                            const char *action)
{
	SCOPE_FREE char *path = tree_path(plan->source->tree, node);

	return problem_set(problem, error, path, action);
}

struct extent_map *extent_map_create(const struct extent_list *list, uint32_t map_block_count)
{
	/* An extent has 16 bytes, so the block numbers after the extents are aligned. */
	size_t extent_bytes = list->count * sizeof(*list->extents);
	struct extent_map *map = calloc(1, sizeof(*map) + extent_bytes + map_block_count * sizeof(uint64_t));

	if (!map)
		return NULL;
	map->extent_count = (uint32_t)list->count;
	map->map_block_count = map_block_count;
	map->map_blocks = (uint64_t *)(void *)&map->extents[list->count];
	if (list->count)
		memcpy(map->extents, list->extents, extent_bytes);
	return map;
}

errcode_t plan_alloc_clusters(const struct plan *plan, struct pack_range *range, uint64_t *blocks, uint64_t count)
{
	errcode_t error = 0;

	for (uint64_t number = 0; !error && number < count; number++) {
		struct ext2mb_extent extent;

		error = pack_range_alloc(range, 1u << plan->format.cluster_bits, &extent);
		if (!error)
			blocks[number] = extent.start;
	}
	return error;
}

errcode_t plan_alloc_blocks(const struct plan *plan, struct pack_range *range, struct extent_list *list,
                            uint32_t logical, uint64_t blocks)
{
	while (blocks) {
		struct ext2mb_extent extent;
		errcode_t error =
			pack_range_alloc(range, plan_clusters(plan, blocks) << plan->format.cluster_bits, &extent);

		if (error)
			return error;
		/* The file owns the tail of its last cluster, which is not mapped. */
		uint64_t mapped = extent.count < blocks ? extent.count : blocks;

		error = extent_list_add(list, logical, extent.start, mapped);
		if (error)
			return error;
		logical += (uint32_t)mapped;
		blocks -= mapped;
	}
	return 0;
}

errcode_t plan_write_map(const struct plan *plan, struct sink *sink, uint32_t ino, const struct file_extent *extents,
                         uint32_t count, const struct extent_map *map, struct inode_value *value)
{
	uint32_t block_count = map ? map->map_block_count : 0;
	const uint64_t *numbers = block_count ? map->map_blocks : NULL;
	SCOPE_FREE char *blocks = block_count ? malloc((size_t)block_count << plan->format.block_bits) : NULL;

	if (block_count && !blocks)
		return ENOMEM;
	errcode_t error =
		file_map_build(&plan->format, ino, value->generation, extents, count, numbers, value->root, blocks);

	for (uint32_t block = 0, run; !error && block < block_count; block += run) {
		for (run = 1; block + run < block_count && numbers[block + run] == numbers[block] + run; run++)
			;
		error = sink_write(sink, numbers[block], run, blocks + ((size_t)block << plan->format.block_bits));
	}
	return error;
}

uint32_t plan_first_directory(const struct plan *plan, uint32_t node)
{
	return (uint32_t)BISECT(plan->directory_count, job, plan->directories[job].node >= node);
}

void plan_start_runs(const struct plan *plan, uint32_t number, struct block_runs *runs)
{
	const struct tree_node *node = plan_node(plan, number);

	block_runs_start(runs, &plan->format, node);
	if (!S_ISREG(node->mode))
		runs->file_blocks = plan->placements[number].blocks;
	if (!plan->placements[number].is_protected) {
		runs->unwritten = plan_unwritten(plan, number);
		return;
	}
	const struct verity_place place = protection_place(&plan->protection, number);

	block_runs_protect(runs, &place);
}

errcode_t plan_list_protected(struct plan *plan)
{
	const struct tree *tree = plan->source->tree;
	errcode_t error = 0;

	protection_release(&plan->protection);
	if (!plan->format.verity || !tree->details)
		return 0;
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		if (plan->placements[node].is_protected && !tree_node_is_link(tree, node))
			error = protection_add(&plan->protection, node);
	return error;
}
