// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/plan/layout_reuse.h"

#include <errno.h>

#include "populate/plan/base_image.h"
#include "populate/plan/block_runs.h"
#include "support/run/interrupt.h"

struct keeping {
	struct build *build;
	struct extent_list earlier; /* of the node */
	struct extent_list kept;    /* of these, what could be had */
};

/* Asks for blocks of a run where they were, up to the first that are not to be had. */
static errcode_t keep_piece(struct keeping *keeping, uint32_t logical, uint32_t count, uint64_t physical)
{
	struct build *build = keeping->build;
	uint64_t cluster = UINT64_C(1) << build->format.cluster_bits;

	while (count) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = physical,
			.count = build_clusters(build, count) * cluster,
			.flags = EXT2MB_ALLOC_GOAL_ONLY,
		};
		struct ext2mb_extent extent;

		/* Taken, metadata now, or past the end. */
		if (ext2mb_alloc(build->workers[0], &request, &extent))
			return 0;
		uint32_t taken = extent.count < count ? (uint32_t)extent.count : count;
		errcode_t error = extent_list_add(&keeping->kept, logical, physical, taken);

		if (error)
			return error;
		logical += taken;
		physical += taken;
		count -= taken;
	}
	return 0;
}

/* Keeps what the earlier extents have of one run of the node's blocks. *next: the first that may reach into it. */
static errcode_t keep_run(struct keeping *keeping, size_t *next, uint32_t logical, uint32_t blocks)
{
	const struct extent_list *earlier = &keeping->earlier;
	uint64_t end = (uint64_t)logical + blocks, mask = (1u << keeping->build->format.cluster_bits) - 1;
	errcode_t error = 0;

	while (*next < earlier->count && (uint64_t)earlier->extents[*next].logical + earlier->extents[*next].count <= logical)
		++*next;
	for (; !error && *next < earlier->count && earlier->extents[*next].logical < end; ++*next) {
		const struct file_extent *extent = &earlier->extents[*next];
		uint32_t first = extent->logical > logical ? extent->logical : logical;
		uint64_t extent_end = (uint64_t)extent->logical + extent->count;
		uint32_t last = (uint32_t)(extent_end < end ? extent_end : end);
		uint64_t physical = extent->physical + (first - extent->logical);

		/* Clusters are kept whole: a piece begins with one, and ends with one or with the run. */
		if (!(first & mask) && !(physical & mask) && (!(last & mask) || last == end))
			error = keep_piece(keeping, first, last - first, physical);
		if (extent_end > end)
			break;
	}
	return error;
}

static errcode_t keep_node(struct keeping *keeping, uint32_t number)
{
	struct build *build = keeping->build;
	struct block_runs runs;
	uint32_t logical, blocks;
	errcode_t error = base_image_read_extents(build->base, build->tree, number, &keeping->earlier);
	size_t next = 0;

	keeping->kept.count = 0;
	block_runs_start_counted(&runs, build, number);
	while (!error && block_runs_next(&runs, &logical, &blocks))
		error = keep_run(keeping, &next, logical, blocks);
	if (error || !keeping->kept.count)
		return error;
	build->reused[number] = extent_map_create(&keeping->kept, 0);
	return build->reused[number] ? 0 : ENOMEM;
}

errcode_t layout_reuse_reserve(struct build *build)
{
	struct keeping keeping = { .build = build };
	errcode_t error = 0;

	if (!build->base || build->base->block_bytes != build->format.block_bytes)
		return 0;
	build->reused = calloc(build->tree->node_count, sizeof(*build->reused));
	if (!build->reused)
		return problem_set(build->problem, ENOMEM, NULL, "cannot plan the image");
	for (uint32_t node = 0; !error && node < build->tree->node_count; node++) {
		if (node % 1024 == 0 && interrupt_pending())
			error = EINTR;
		else if (build->placements[node].blocks && !tree_node_is_link(build->tree, node))
			error = keep_node(&keeping, node);
	}
	free(keeping.earlier.extents);
	free(keeping.kept.extents);
	return error ? problem_set(build->problem, error, NULL, "cannot plan the image") : 0;
}

void layout_reuse_release(struct build *build)
{
	for (uint32_t node = 0; build->reused && node < build->tree->node_count; node++)
		free(build->reused[node]);
	free(TAKE(build->reused));
}
