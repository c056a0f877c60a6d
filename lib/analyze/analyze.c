/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/analyze.h"

#include <errno.h>

#include "analyze/directories/directory_totals.h"
#include "analyze/directories/unlink_cost.h"
#include "analyze/read/paths.h"
#include "analyze/report/verdict.h"

static errcode_t name_worst(struct inode_scan *scan, struct report *report)
{
	size_t count = scan->worst.count;
	SCOPE_FREE uint32_t *inos = calloc(count + 1, sizeof(*inos));
	SCOPE_FREE const char **paths = malloc((count + 1) * sizeof(*paths));

	if (!inos || !paths)
		return ENOMEM;
	for (size_t n = 0; n < count; n++)
		inos[n] = scan->worst.files[n].ino;
	errcode_t error = paths_find(scan, inos, count, &report->arena, paths);

	if (error)
		return error;
	for (size_t n = 0; n < count; n++)
		scan->worst.files[n].path = paths[n];
	report->worst = TAKE(scan->worst.files);
	report->worst_count = count;
	return 0;
}

static bool needs_directories(const struct analyze_options *options)
{
	return options->by_directory || options->unlink_batch_files;
}

/* The directories first: what looks at files wants to know whose they are. */
static errcode_t scan_twice(struct inode_scan *scan, const struct analyze_options *options, struct report *report)
{
	struct by_directory *totals = NULL;
	struct unlink_cost *unlink = NULL;
	struct inode_visitor visitors[2];
	size_t count = 0;
	errcode_t error = inode_scan_run(scan, INODE_SCAN_DIRECTORIES, NULL, 0);

	if (!error && options->by_directory)
		error = by_directory_open(scan, options->directory_depth, &totals);
	if (!error && options->unlink_batch_files)
		error = unlink_cost_open(scan, options->unlink_batch_files, options->worst_limit, &unlink);
	if (!error && totals)
		visitors[count++] = by_directory_visitor(totals);
	if (!error && unlink)
		visitors[count++] = unlink_cost_visitor(unlink);
	if (!error)
		error = inode_scan_run(scan, INODE_SCAN_FILES, visitors, count);
	if (!error && totals)
		error = by_directory_finish(totals, report);
	if (!error && unlink)
		error = unlink_cost_finish(unlink, report);
	by_directory_close(totals);
	unlink_cost_close(unlink);
	return error;
}

static errcode_t scan_files(struct inode_scan *scan, const struct analyze_options *options, struct report *report)
{
	errcode_t error = needs_directories(options) ? scan_twice(scan, options, report) :
	                                          inode_scan_run(scan, INODE_SCAN_DIRECTORIES | INODE_SCAN_FILES, NULL,
	                                                              0);

	if (error)
		return error;
	report->files = scan->files;
	report->directories = scan->directories_report;
	return name_worst(scan, report);
}

static errcode_t analyze_files(const struct volume *volume, struct pool *pool, const struct analyze_options *options,
                               struct report *report)
{
	SCOPE_FREE struct inode_scan *scan = malloc(sizeof(*scan));
	errcode_t error =
		scan ? inode_scan_open(volume, pool, options->worst_limit, report->filesystem.span_blocks, scan) :
		       ENOMEM;

	if (error)
		return error;
	scan->progress = options->progress;
	error = scan_files(scan, options, report);
	damage_merge(&report->damage, &scan->damage);
	inode_scan_close(scan);
	return error;
}

static uint64_t inodes_to_scan(const struct volume *volume)
{
	uint64_t inodes = 0;

	for (uint32_t group = 0; group < volume->geometry.groups; group++)
		inodes += volume->group[group].inodes_used;
	return inodes;
}

static errcode_t analyze_parts(const struct volume *volume, struct pool *pool, const struct analyze_options *options,
                               struct report *report)
{
	struct free_space_options free_options = { options->chunk_blocks, options->with_groups };
	errcode_t error = 0;

	if (!options->without_free) {
		progress_stage(options->progress, "free space", 0, 0);
		error = free_space_read(volume, pool, &free_options, &report->free, &report->damage);
	}
	if (!error && !options->without_files) {
		progress_stage(options->progress, "files", 0,
		               inodes_to_scan(volume) * (needs_directories(options) ? 2 : 1));
		error = analyze_files(volume, pool, options, report);
	}
	if (error)
		return error;
	verdict_make(report);
	return 0;
}

errcode_t analyze(const struct volume *volume, const struct analyze_options *options, struct report *report,
                  struct problem *problem)
{
	struct pool *pool;
	errcode_t error = pool_create(options->threads, &pool);

	if (!error) {
		error = analyze_parts(volume, pool, options, report);
		pool_destroy(pool);
	}
	return error ? problem_set(problem, error, volume->path, "cannot analyse") : 0;
}
