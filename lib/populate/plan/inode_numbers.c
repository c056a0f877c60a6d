/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/inode_numbers.h"

#include <errno.h>
#include <sys/stat.h>

#include "populate/plan/base_image.h"

static errcode_t alloc_number(const struct filesystem *filesystem, bool is_directory, ext2_ino_t goal, ext2_ino_t *ino)
{
	struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = EXT2_ROOT_INO,
		.goal = goal,
		.flags = EXT2MB_INODE_PACK,
	};

	if (is_directory)
		request.flags |= EXT2MB_INODE_DIRECTORY;
	return ext2mb_inode_alloc(filesystem->workers[0], &request, ino);
}

/* Gives a file the number that its encryption depends on. */
static errcode_t require_number(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work,
                                uint32_t node, ext2_ino_t wanted)
{
	ext2_ino_t got = 0;
	errcode_t error = alloc_number(filesystem, S_ISDIR(plan_node(plan, node)->mode), wanted, &got);

	if (!error && got == wanted) {
		plan->placements[node].ino = wanted;
		return 0;
	}
	if (error && error != EXT2MB_ET_NO_INODES && error != EXT2MB_ET_BAD_RANGE)
		return plan_node_problem(plan, work->problem, node, error, "cannot number its inode");
	SCOPE_FREE char *path = tree_path(plan->source->tree, node);

	return problem_set_reason(work->problem, EINVAL, path, "cannot be stored",
	                          "its policy (IV_INO_LBLK) encrypts it with its inode number %u, which is not free in "
	                          "the new filesystem: other options (-O, -N) may leave it free",
	                          wanted);
}

static errcode_t require_numbers(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	const struct tree *tree = plan->source->tree;
	errcode_t error = 0;

	for (uint32_t node = plan->source->encrypted.first_keeper; !error && node && node < tree->node_count; node++) {
		uint32_t wanted = tree_detail(tree, &tree->nodes[node])->inode_number;

		if (wanted && !tree_node_is_link(tree, node))
			error = require_number(plan, filesystem, work, node, wanted);
	}
	return error;
}

/* Gives a node its number in the earlier image again, if that is free. */
static errcode_t keep_numbers(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	for (uint32_t node = 1; node < plan->source->tree->node_count; node++) {
		ext2_ino_t wanted = plan->source->base->inodes[node], got;

		if (!wanted || plan->placements[node].ino || tree_node_is_link(plan->source->tree, node))
			continue;
		bool is_directory = S_ISDIR(plan_node(plan, node)->mode);
		errcode_t error = alloc_number(filesystem, is_directory, wanted, &got);

		if (error == EXT2MB_ET_NO_INODES || error == EXT2MB_ET_BAD_RANGE)
			continue;
		if (!error && got == wanted)
			plan->placements[node].ino = wanted;
		else if (!error)
			error = ext2mb_inode_free(filesystem->workers[0], got, is_directory);
		if (error)
			return plan_node_problem(plan, work->problem, node, error, "cannot number its inode");
	}
	return 0;
}

static int compare_numbers(const void *first, const void *second, void *context)
{
	const struct plan *plan = context;
	uint32_t one = plan_item_ino(plan, *(const uint32_t *)first);
	uint32_t other = plan_item_ino(plan, *(const uint32_t *)second);

	return one < other ? -1 : one > other;
}

/* Numbers all other nodes, in tree order. */
static errcode_t number_nodes(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work,
                              ext2_ino_t *goal, uint32_t *count)
{
	const struct tree *tree = plan->source->tree;

	for (uint32_t node = 1; node < tree->node_count; node++) {
		struct placement *placement = &plan->placements[node];

		if (tree_node_is_link(tree, node)) {
			placement->ino = plan->placements[tree->nodes[node].link_to].ino;
			continue;
		}
		plan->items_by_inode[(*count)++] = node;
		if (placement->ino)
			continue;
		bool is_directory = S_ISDIR(tree->nodes[node].mode);
		errcode_t error = alloc_number(filesystem, is_directory, *goal, &placement->ino);

		if (error)
			return plan_node_problem(plan, work->problem, node, error, "cannot number its inode");
		*goal = placement->ino + 1;
	}
	return 0;
}

/* This is serial: 50 ns an inode, a thousandth of the time for reading a file. */
errcode_t inode_numbers_assign(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	ext2_ino_t goal = 0;
	uint32_t count = 0;
	errcode_t error = 0;

	plan->items_by_inode = calloc(plan_items(plan), sizeof(*plan->items_by_inode));
	if (!plan->items_by_inode)
		return problem_set(work->problem, ENOMEM, NULL, "cannot plan the image");
	plan->placements[TREE_ROOT].ino = EXT2_ROOT_INO;
	plan->lost_found = filesystem->lost_found.ino;
	plan->items_by_inode[count++] = TREE_ROOT;
	if (plan->source->encrypted.first_keeper)
		error = require_numbers(plan, filesystem, work);
	if (!error && plan->source->base)
		error = keep_numbers(plan, filesystem, work);
	if (!error)
		error = number_nodes(plan, filesystem, work, &goal, &count);
	for (uint32_t value = 0; !error && value < plan->xattrs.value_count; value++) {
		error = alloc_number(filesystem, false, goal, &plan->xattrs.values[value].ino);
		if (error)
			return problem_set(work->problem, error, plan->options->image,
			                   "cannot number an extended attribute's inode");
		goal = plan->xattrs.values[value].ino + 1;
		plan->items_by_inode[count++] = plan->source->tree->node_count + value;
	}
	if (!error && (plan->source->base || plan->source->encrypted.first_keeper))
		qsort_r(plan->items_by_inode, count, sizeof(*plan->items_by_inode), compare_numbers, plan);
	return error;
}
