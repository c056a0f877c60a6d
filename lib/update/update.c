/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/update.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/pack/layer_cache.h"
#include "source/reading.h"
#include "tree/xattr_table.h"
#include "update/build/plain_path.h"
#include "update/carry_out.h"
#include "update/compare/compare.h"
#include "update/compare/image_links.h"
#include "update/compare/into.h"
#include "update/compare/linked_files.h"
#include "update/target/against.h"
#include "update/holes.h"
#include "update/name_files.h"
#include "update/target/examine.h"
#include "update/target/separate_trees.h"

void update_report_clear(struct update_report *report)
{
	delta_free(&report->delta);
	warnings_clear(&report->warnings);
}

/* Without sources: a root that says nothing, and nothing in it. */
static errcode_t make_empty_tree(struct tree **ret)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	struct xattr_table *table = NULL;
	errcode_t error = tree ? xattr_table_create(&table) : ENOMEM;

	if (!error) {
		tree->nodes = calloc(1, sizeof(*tree->nodes));
		error = tree->nodes ? 0 : ENOMEM;
	}
	if (!error) {
		tree->node_count = 1;
		tree->nodes[TREE_ROOT] =
			(struct tree_node){ .name = "", .is_implied = true, .mode = S_IFDIR | 0755, .links = 2 };
		error = xattr_table_finish(table, tree);
	}
	xattr_table_destroy(table);
	if (error)
		tree_destroy(tree);
	*ret = error ? NULL : tree;
	return error;
}

/* below: the files of the image, where links of the sources may lead to; NULL: none is followed. */
static errcode_t read_sources(const struct update_options *options, const struct volume *volume, const char *base,
                              const struct lower_files *below, struct pool *pool, struct run_files *files,
                              struct update_report *report, struct tree **ret, struct problem *problem)
{
	struct linked_files linked;
	struct source_layering layering = options->layering;

	struct scan_options scan = {
		.skipped = report->skipped,
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.asks_for_times = options->all_times,
		/* What the source seems not to have would be taken away from the image. */
		.needs_xattrs = options->mirrors,
		.asks_for_holes = options->zeros_of_source,
		.asks_for_projects = volume->format.project,
		.platform = options->platform,
		.links = &report->links,
		.warnings = &report->warnings,
		.files = files,
		.progress = options->progress,
	};
	layering.base = &linked.functions;
	linked_files_init(&linked, volume, base);
	linked.functions.files = below;
	const struct source_reading reading = {
		.sources = options->sources,
		.source_count = options->source_count,
		.layering = layering,
		.outputs[SCAN_IMAGE] = options->image,
		.scan = &scan,
		.limits = options->limits,
		.memory_bytes = options->memory_bytes,
		.threads = options->threads,
		.owners = options->owners,
		.metadata = options->metadata,
	};

	progress_stage(options->progress, "scan", 0, 0);
	if (!options->source_count)
		return make_empty_tree(ret);
	errcode_t error = layer_cache_open(&options->layer_cache, &scan.layers, problem);

	if (!error)
		error = sources_read(&reading, pool, ret, problem);
	if (!error && scan.layers) {
		report->layers_made = layer_cache_count(scan.layers, LAYER_MADE);
		report->layers_cached = layer_cache_count(scan.layers, LAYER_CACHED);
		error = layer_cache_warnings(scan.layers, &report->warnings);
	}
	layer_cache_close(scan.layers);
	return error;
}

/* The tree of all sources, as if they were laid over the image one by one. */
static errcode_t read_tree(const struct update_options *options, const struct volume *volume, struct pool *pool,
                           struct run_files *files, struct update_report *report, struct update_plan *plan,
                           struct problem *problem)
{
	struct image_links links;

	if (!options->layering.follows_links)
		return read_sources(options, volume, plan->base, NULL, pool, files, report, &plan->tree, problem);
	/* Is a link that leads nowhere one of those that are to be removed? The comparison knows. */
	errcode_t error = image_links_open(volume, plan->base, !options->removed_count, &links);

	if (error)
		return problem_set(problem, error, options->image, "cannot follow its symbolic links");
	error = read_sources(options, volume, plan->base, &links.files, pool, files, report, &plan->tree, problem);
	if (!error)
		error = image_links_follow(options, &links, pool, plan->tree, &report->links.followed, problem);
	image_links_close(&links);
	return error;
}

/* --- What is going to be done ------------------------------------------------------------------------------------- */

static char sign_of(const struct update_action *action)
{
	switch (action->verb) {
	case UPDATE_REMOVE:
		return '-';
	case UPDATE_METADATA:
		return '~';
	case UPDATE_REPLACE:
		return '=';
	default:
		return action->ino ? '=' : '+';
	}
}

static errcode_t list_actions(const struct update_plan *plan, update_listener listener, void *context)
{
	for (size_t i = 0; listener && i < plan->count; i++) {
		const struct update_action *action = &plan->actions[i];
		SCOPE_FREE char *path = update_action_path(plan, action);

		if (!path)
			return ENOMEM;
		listener(context, sign_of(action), path);
	}
	return 0;
}

static void count_actions(const struct update_plan *plan, struct update_report *report)
{
	report->unchanged = plan->unchanged;
	for (size_t i = 0; i < plan->count; i++) {
		char sign = sign_of(&plan->actions[i]);

		report->added += sign == '+';
		report->replaced += sign == '=';
		report->changed += sign == '~';
		report->removed += sign == '-';
	}
}

/* Files of the sources that fs-verity protects, and that cannot be protected in the image. */
static errcode_t warn_unprotected(const struct update_plan *plan, struct warnings *warnings)
{
	const struct update_action *first = NULL;
	struct problem problem = { 0 };
	uint64_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct update_action *action = &plan->actions[i];

		if ((action->verb != UPDATE_CREATE && action->verb != UPDATE_REPLACE) ||
		    !tree_detail(plan->tree, &plan->tree->nodes[action->node])->verity ||
		    protected_nodes_has(&plan->protection, action->node))
			continue;
		first = first ? first : action;
		count++;
	}
	if (!count)
		return 0;
	SCOPE_FREE char *path = tree_path(plan->tree, first->node);

	problem_set_reason(&problem, ENOTSUP, path, "is not protected by fs-verity in the image",
	                   "the filesystem cannot hold it");
	return warnings_add(warnings, &problem, count);
}

/* Paths are checked before anything is read. */
static errcode_t check_path(const char *path, struct problem *problem)
{
	return plain_path_climbs(path) ?
	               problem_set_reason(problem, EINVAL, path, "cannot be followed", "it leads upwards (..)") :
	               0;
}

static errcode_t check_paths(const struct update_options *options, struct problem *problem)
{
	errcode_t error = options->into ? check_path(options->into, problem) : 0;

	for (uint32_t i = 0; !error && i < options->removed_count; i++)
		error = check_path(options->removed[i], problem);
	return error;
}

static errcode_t change_image(const struct update_options *options, struct update_plan *plan,
                              struct update_target *target, struct delta_old *old, struct pool *pool,
                              struct update_report *report, struct problem *problem)
{
	const struct geometry *geometry = &target->volume.geometry;
	uint64_t bytes = geometry->end_block << geometry->block_bits;
	bool has_work = update_has_work(plan, target);
	errcode_t error = carry_out(options, plan, target, old, pool, report, problem);

	if (!error && !options->is_dry_run && (has_work || report->grown_bytes))
		separate_trees_warn(options, bytes, &report->warnings);
	return error;
}

static errcode_t update_with(const struct update_options *options, struct pool *pool, struct run_files *files,
                             update_listener listener, void *context, struct update_report *report,
                             struct problem *problem)
{
	struct update_options comparing = *options;
	bool is_new = false;
	struct update_plan plan = { .base = plain_path(options->into ? options->into : "") };
	struct update_target target;
	struct delta_old old = { .descriptor = -1 };
	errcode_t error = plan.base ? check_paths(options, problem) : ENOMEM;

	if (!error && files)
		error = update_name_files(options, files, problem);
	if (!error)
		error = against_open(options, &old, problem);
	if (!error)
		error = target_examine(options, &target, problem);
	if (error) {
		against_close(&old);
		update_plan_free(&plan);
		return error;
	}
	error = read_tree(options, &target.volume, pool, files, report, &plan, problem);
	/* Nothing of the image is in a directory that is not there. */
	if (!error)
		error = into_find(options, &target.volume, &plan, &report->warnings, &is_new, problem);
	comparing.mirrors = options->mirrors && !is_new;
	if (!error)
		error = protected_nodes_find(&plan.protection, plan.tree, &target.volume.format, options->image,
		                             problem);
	if (!error)
		error = compare_with_image(&comparing, &target.volume, pool, &plan, report, problem);
	if (!error)
		error = list_actions(&plan, listener, context);
	if (!error)
		error = warn_unprotected(&plan, &report->warnings);
	if (!error)
		count_actions(&plan, report);
	if (!error && !options->is_dry_run)
		error = holes_find(options, &plan, &target.volume, pool, problem);
	if (!error)
		error = change_image(options, &plan, &target, &old, pool, report, problem);
	target_close(&target);
	against_close(&old);
	update_plan_free(&plan);
	return error;
}

errcode_t update(const struct update_options *options, struct run_files *files, update_listener listener, void *context,
                 struct update_report *report, struct problem *problem)
{
	struct pool *pool;
	errcode_t error = pool_create(options->threads, &pool);

	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	error = update_with(options, pool, files, listener, context, report, problem);
	pool_destroy(pool);
	return error ? problem_set(problem, error, options->image, "cannot update") : 0;
}
