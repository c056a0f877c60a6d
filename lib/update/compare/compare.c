/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/compare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/lookup.h"
#include "support/bits.h"
#include "update/compare/comparison.h"

static void hear(void *context, const struct image_damage *damage)
{
	struct comparison *comparison = context;

	if (!comparison->damage)
		comparison->damage = damage->what;
}

/* Finds the place of the tree's root in the image. */
static errcode_t find_base(struct comparison *comparison)
{
	const struct damage_listener damage = { hear, comparison };
	const char *into = comparison->plan->base;
	struct volume_inode inode;
	uint32_t ino = EXT2_ROOT_INO;
	errcode_t error = paths_lookup(comparison->volume, into, damage, &ino);

	if (!error)
		error = comparison_read_inode(comparison, TREE_ROOT, ino, &inode);
	if (!error && !S_ISDIR(inode.view.mode))
		error = ENOTDIR;
	if (error)
		return problem_set(comparison->problem, error, *into ? into : "/", "cannot update this directory");
	comparison->found[TREE_ROOT] = ino;
	return 0;
}

static errcode_t open_comparison(struct comparison *comparison)
{
	const struct volume *volume = comparison->volume;
	const struct damage_listener damage = { hear, comparison };
	struct update_plan *plan = comparison->plan;

	plan->inos = calloc(plan->tree->node_count, sizeof(*plan->inos));
	comparison->found = calloc(plan->tree->node_count, sizeof(*comparison->found));
	comparison->claimed = calloc(bits_words(volume->inodes + UINT64_C(1)), sizeof(*comparison->claimed));
	comparison->raw = malloc(volume->format.inode_bytes);
	if (!plan->inos || !comparison->found || !comparison->claimed || !comparison->raw)
		return ENOMEM;
	errcode_t error = inode_window_open(&comparison->window, volume);

	if (error)
		return error;
	error = directory_walker_open(volume, damage, &comparison->map_blocks_read, &comparison->directory_blocks_read,
	                              &comparison->walker);

	comparison->is_open = !error;
	comparison->walker.map.is_strict = true;
	return error;
}

static void close_comparison(struct comparison *comparison)
{
	if (comparison->is_open)
		directory_walker_close(&comparison->walker);
	inode_window_free(&comparison->window);
	free(comparison->raw);
	free(comparison->found);
	free(comparison->claimed);
	free(comparison->linked);
	free(comparison->has_same_bytes);
	free(comparison->removals);
	inode_map_free(&comparison->directories);
}

/* Puts removals before all other actions. */
static errcode_t join_removals(struct comparison *comparison)
{
	struct update_plan *plan = comparison->plan;
	size_t count = comparison->removal_count;
	struct update_action *all = count ? malloc((count + plan->count) * sizeof(*all)) : NULL;

	if (!count)
		return 0;
	if (!all)
		return ENOMEM;
	memcpy(all, comparison->removals, count * sizeof(*all));
	if (plan->count)
		memcpy(all + count, plan->actions, plan->count * sizeof(*all));
	free(plan->actions);
	plan->actions = all;
	plan->count = plan->capacity = count + plan->count;
	return 0;
}

errcode_t compare_with_image(const struct update_options *options, const struct volume *volume, struct pool *pool,
                             struct update_plan *plan, struct update_report *report, struct problem *problem)
{
	struct comparison comparison = {
		.options = options,
		.volume = volume,
		.pool = pool,
		.plan = plan,
		.report = report,
		.problem = problem,
	};
	errcode_t error = open_comparison(&comparison);

	if (!error)
		error = find_base(&comparison);
	if (!error)
		error = comparison_mark_paths(&comparison);
	if (!error)
		error = comparison_find(&comparison);
	if (!error && (options->compares_bytes || options->has_epoch))
		error = comparison_compare_bytes(&comparison);
	if (!error)
		error = comparison_decide(&comparison);
	if (!error)
		error = comparison_remove_paths(&comparison);
	if (!error)
		error = comparison_check_storable(&comparison);
	if (!error)
		error = join_removals(&comparison);
	close_comparison(&comparison);
	return error ? problem_set(problem, error, options->image, "cannot compare") : 0;
}
