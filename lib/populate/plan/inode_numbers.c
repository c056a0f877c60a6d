/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/inode_numbers.h"

#include <errno.h>
#include <sys/stat.h>

#include "populate/plan/base_image.h"

static errcode_t alloc_number(struct build *build, bool is_directory, ext2_ino_t goal, ext2_ino_t *ino)
{
	struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = EXT2_ROOT_INO,
		.goal = goal,
		.flags = EXT2MB_INODE_PACK,
	};

	if (is_directory)
		request.flags |= EXT2MB_INODE_DIRECTORY;
	return ext2mb_inode_alloc(build->workers[0], &request, ino);
}

/* A node that had a number in the earlier image gets it again, if it is free. */
static errcode_t keep_numbers(struct build *build)
{
	for (uint32_t node = 1; node < build->tree->node_count; node++) {
		ext2_ino_t wanted = build->base->inodes[node], got;

		if (!wanted || tree_node_is_link(build->tree, node))
			continue;
		bool is_directory = S_ISDIR(build_node(build, node)->mode);
		errcode_t error = alloc_number(build, is_directory, wanted, &got);

		if (error == EXT2MB_ET_NO_INODES || error == EXT2MB_ET_BAD_RANGE)
			continue;
		if (!error && got == wanted)
			build->placements[node].ino = wanted;
		else if (!error)
			error = ext2mb_inode_free(build->workers[0], got, is_directory);
		if (error)
			return build_node_problem(build, build->problem, node, error, "cannot number its inode");
	}
	return 0;
}

static int compare_numbers(const void *first, const void *second, void *context)
{
	const struct build *build = context;
	uint32_t one = build_item_ino(build, *(const uint32_t *)first);
	uint32_t other = build_item_ino(build, *(const uint32_t *)second);

	return one < other ? -1 : one > other;
}

/* All others, in tree order. */
static errcode_t number_nodes(struct build *build, ext2_ino_t *goal, uint32_t *count)
{
	const struct tree *tree = build->tree;

	for (uint32_t node = 1; node < tree->node_count; node++) {
		struct placement *placement = &build->placements[node];

		if (tree_node_is_link(tree, node)) {
			placement->ino = build->placements[tree->nodes[node].link_to].ino;
			continue;
		}
		build->items_by_inode[(*count)++] = node;
		if (placement->ino)
			continue;
		bool is_directory = S_ISDIR(tree->nodes[node].mode);
		errcode_t error = alloc_number(build, is_directory, *goal, &placement->ino);

		if (error)
			return build_node_problem(build, build->problem, node, error, "cannot number its inode");
		*goal = placement->ino + 1;
	}
	return 0;
}

/* Serial: 50 ns an inode, a thousandth of what reading a file costs. */
errcode_t inode_numbers_assign(struct build *build)
{
	ext2_ino_t goal = 0;
	uint32_t count = 0;
	errcode_t error = 0;

	build->items_by_inode = calloc(build_items(build), sizeof(*build->items_by_inode));
	if (!build->items_by_inode)
		return problem_set(build->problem, ENOMEM, NULL, "cannot plan the image");
	build->placements[TREE_ROOT].ino = EXT2_ROOT_INO;
	build->items_by_inode[count++] = TREE_ROOT;
	if (build->base)
		error = keep_numbers(build);
	if (!error)
		error = number_nodes(build, &goal, &count);
	for (uint32_t value = 0; !error && value < build->xattr_value_count; value++) {
		error = alloc_number(build, false, goal, &build->xattr_values[value].ino);
		if (error)
			return problem_set(build->problem, error, build->options->image,
			                   "cannot number an extended attribute's inode");
		goal = build->xattr_values[value].ino + 1;
		build->items_by_inode[count++] = build->tree->node_count + value;
	}
	if (!error && build->base)
		qsort_r(build->items_by_inode, count, sizeof(*build->items_by_inode), compare_numbers, build);
	return error;
}
