/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/update.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/reading.h"
#include "tree/xattr_table.h"
#include "update/carry_out.h"
#include "update/compare/compare.h"
#include "update/compare/linked_files.h"
#include "update/target/examine.h"

void update_report_clear(struct update_report *report)
{
	warnings_clear(&report->warnings);
}

/* Without sources, the tree is an implied root directory without names. */
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

static errcode_t read_sources(const struct update_options *options, const struct volume *volume, const char *base,
                              struct pool *pool, struct update_report *report, struct tree **ret,
                              struct problem *problem)
{
	struct linked_files linked;
	struct source_layering layering = options->layering;

	const struct scan_options scan = {
		.skipped = &report->skipped_image,
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.asks_for_times = options->all_times,
		.asks_for_projects = volume->format.project,
		.warnings = &report->warnings,
		.progress = options->progress,
	};
	layering.base = &linked.functions;
	linked_files_init(&linked, volume, base);
	const struct source_reading reading = {
		.sources = options->sources,
		.source_count = options->source_count,
		.layering = layering,
		.image = options->image,
		.scan = &scan,
		.limits = options->limits,
		.memory_bytes = options->memory_bytes,
		.threads = options->threads,
		.owners = options->owners,
		.metadata = options->metadata,
	};

	progress_stage(options->progress, "scan", 0, 0);
	return options->source_count ? sources_read(&reading, pool, ret, problem) : make_empty_tree(ret);
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

/* Returns the path with one slash before each name. The caller frees it; NULL: no memory. */
static char *plain_path(const char *path)
{
	char *plain = malloc(strlen(path) + 2), *end = plain;

	for (; plain && *(path += strspn(path, "/")); path += strcspn(path, "/")) {
		size_t bytes = strcspn(path, "/");

		*end++ = '/';
		memcpy(end, path, bytes);
		end += bytes;
	}
	if (plain)
		*end = '\0';
	return plain;
}

static errcode_t update_with(const struct update_options *options, struct pool *pool, update_listener listener,
                             void *context, struct update_report *report, struct problem *problem)
{
	struct update_plan plan = { .base = plain_path(options->into ? options->into : "") };
	struct update_target target;
	errcode_t error = plan.base ? target_examine(options, &target, problem) : ENOMEM;

	if (error) {
		update_plan_free(&plan);
		return error;
	}
	error = read_sources(options, &target.volume, plan.base, pool, report, &plan.tree, problem);
	if (!error)
		error = compare_with_image(options, &target.volume, pool, &plan, report, problem);
	if (!error)
		error = list_actions(&plan, listener, context);
	if (!error)
		count_actions(&plan, report);
	if (!error && plan.count && !options->is_dry_run)
		error = carry_out(options, &plan, &target, pool, report, problem);
	target_close(&target);
	update_plan_free(&plan);
	return error;
}

errcode_t update(const struct update_options *options, update_listener listener, void *context,
                 struct update_report *report, struct problem *problem)
{
	struct pool *pool;
	errcode_t error = pool_create(options->threads, &pool);

	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	error = update_with(options, pool, listener, context, report, problem);
	pool_destroy(pool);
	return error ? problem_set(problem, error, options->image, "cannot update") : 0;
}
