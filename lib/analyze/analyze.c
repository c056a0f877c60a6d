/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/analyze.h"

#include <errno.h>

#include "analyze/directories/directory_totals.h"
#include "analyze/directories/unlink_cost.h"
#include "analyze/read/deletion.h"
#include "analyze/read/map_files.h"
#include "analyze/read/paths.h"
#include "analyze/report/verdict.h"
#include "support/seconds.h"

#define QUICK_BYTES_A_SECOND (UINT64_C(32) << 20)

static size_t want_largest(struct largest_inodes *largest, struct path_wanted *wanted)
{
	for (unsigned int n = 0; n < largest->count; n++)
		wanted[n] = (struct path_wanted){ largest->most[n].ino, &largest->most[n].path };
	return largest->count;
}

static errcode_t name_files(struct inode_scan *scan)
{
	struct report *report = scan->report;
	const struct worst_files *worst = &report->worst;
	SCOPE_FREE struct path_wanted *wanted = calloc(worst->count + 2 * REPORT_MOST_NAMED, sizeof(*wanted));
	size_t count = worst->count;

	if (!wanted)
		return ENOMEM;
	for (size_t n = 0; n < worst->count; n++)
		wanted[n] = (struct path_wanted){ worst->files[n].ino, &worst->files[n].path };
	count += want_largest(&report->preallocated, wanted + count);
	count += want_largest(&report->nearly_empty, wanted + count);
	return paths_find(scan, wanted, count);
}

static bool needs_directories(const struct analyze_options *options)
{
	return options->by_directory || options->unlink_batch_files || options->deleted_bytes || options->map_cells;
}

/* Directories come first: visitors of files need the directory of each file. */
static errcode_t scan_twice(struct inode_scan *scan, const struct analyze_options *options)
{
	struct inode_visitor visitors[4];
	size_t count = 0;
	errcode_t error = inode_scan_run(scan, INODE_SCAN_DIRECTORIES, NULL, 0);

	if (!error && options->by_directory) {
		error = by_directory_open(scan, options->directory_depth, &visitors[count]);
		count += !error;
	}
	if (!error && options->unlink_batch_files) {
		error = unlink_cost_open(scan, options->unlink_batch_files, &visitors[count]);
		count += !error;
	}
	if (!error && options->map_cells) {
		error = map_files_open(scan, options->map_cells, &visitors[count]);
		count += !error;
	}
	if (!error && options->deleted_bytes) {
		uint64_t block_bytes = scan->report->filesystem.block_bytes;

		error = deletion_open(scan, (options->deleted_bytes + block_bytes - 1) / block_bytes, &visitors[count]);
		count += !error;
	}
	if (!error)
		error = inode_scan_run(scan, INODE_SCAN_FILES, visitors, count);
	for (size_t n = 0; n < count; n++) {
		if (!error)
			error = visitors[n].finish(visitors[n].context);
		visitors[n].close(visitors[n].context);
	}
	return error;
}

static errcode_t analyze_files(const struct volume *volume, struct pool *pool, const struct analyze_options *options,
                               struct report *report)
{
	struct inode_scan scan;
	errcode_t error = inode_scan_open(volume, pool, options->progress, report, &scan);

	if (error)
		return error;
	/* With a budget directories are not read: one may be as large as the filesystem, and names do not show
	 * fragmentation. */
	unsigned int parts = volume->budget ? INODE_SCAN_FILES : INODE_SCAN_DIRECTORIES | INODE_SCAN_FILES;

	error = needs_directories(options) ? scan_twice(&scan, options) : inode_scan_run(&scan, parts, NULL, 0);
	if (!error)
		error = name_files(&scan);
	damage_merge(&report->damage, &scan.damage);
	inode_scan_close(&scan);
	return error;
}

static uint64_t inodes_to_scan(const struct volume *volume)
{
	uint64_t inodes = 0;

	for (uint32_t group = 0; group < volume->geometry.groups; group++)
		inodes += volume->group[group].inodes_used;
	return inodes;
}

/* Sets the budget to the given share of the time and of the bytes. */
static void set_budget(const struct volume *volume, const struct report_quick *quick, double started, double share)
{
	if (!volume->budget)
		return;
	volume->budget->most_bytes = (uint64_t)((double)quick->most_bytes * share);
	volume->budget->end = started + quick->seconds * share;
}

static errcode_t analyze_parts(const struct volume *volume, struct pool *pool, const struct analyze_options *options,
                               double started, struct report *report)
{
	const struct damage_listener listener = damage_list_listener(&report->damage);
	errcode_t error = 0;

	report->has_free = !options->without_free;
	report->has_files = !options->without_files;
	report->free.chunk_blocks = options->chunk_blocks;
	report->free.superblock_free_blocks = volume->free_blocks;
	report->free.reserved_blocks = volume->reserved_blocks;
	report->worst.limit = options->worst_limit;
	report->worst.is_of_one_kind = options->lists;
	report->worst.kind = options->list_kind;
	volume_check_descriptors(volume, &listener);
	if (!options->without_free) {
		progress_stage(options->progress, "free space", 0, 0);
		set_budget(volume, &report->quick, started, options->without_files ? 1 : 0.5);
		error = free_space_read(volume, pool, options->with_groups, report);
	}
	if (!error && options->predicts) {
		report->outlook = calloc(1, sizeof(*report->outlook));
		error = report->outlook ? 0 : ENOMEM;
	}
	if (!error && !options->without_files) {
		progress_stage(options->progress, "files", 0,
		               inodes_to_scan(volume) * (needs_directories(options) ? 2 : 1));
		set_budget(volume, &report->quick, started, 1);
		error = analyze_files(volume, pool, options, report);
	}
	if (error)
		return error;
	verdict_make(report);
	if (report->outlook)
		verdict_predict(report);
	return 0;
}

errcode_t analyze(const struct volume *volume, const struct analyze_options *options, struct report *report,
                  struct problem *problem)
{
	double started = seconds_of(CLOCK_MONOTONIC);
	struct read_budget budget = { 0 };
	struct volume limited = *volume;
	struct pool *pool;
	errcode_t error = pool_create(options->threads, &pool);

	if (options->quick_seconds) {
		limited.budget = &budget;
		report->quick.seconds = options->quick_seconds;
		report->quick.most_bytes = options->quick_seconds * QUICK_BYTES_A_SECOND;
		report->quick.inodes_in_use = inodes_to_scan(volume);
	}
	if (!error) {
		error = analyze_parts(&limited, pool, options, started, report);
		pool_destroy(pool);
	}
	report->quick.read_bytes = budget.read_bytes;
	report->seconds = seconds_of(CLOCK_MONOTONIC) - started;
	return error ? problem_set(problem, error, volume->path, "cannot analyse") : 0;
}
