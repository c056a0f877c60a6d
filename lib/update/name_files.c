/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/name_files.h"

#include <errno.h>

#include "source/kind/run_host.h"
#include "source/reading.h"
#include "unpack/sparse_file.h"
#include "unpack/spool_directory.h"
#include "update/update.h"

static errcode_t name_outputs(const struct update_options *options, struct run_files *files)
{
	SCOPE_FREE char *spool = spool_directory(options->image);
	errcode_t error = spool ? run_files_use_folder(files, "temporary", spool, false) : ENOMEM;

	if (!error)
		error = run_files_use_folder(files, "temporary", sparse_file_folder(), false);

	if (!error && !options->is_dry_run)
		error = run_files_write(files, "image", options->image);
	if (!error && options->layer_cache.path)
		error = run_files_use_folder(files, "layer-cache", options->layer_cache.path, true);
	return error;
}

static errcode_t name_inputs(const struct update_options *options, struct run_files *files)
{
	errcode_t error = run_files_read(files, "image", options->image, options->offset_bytes);

	if (!error && options->against)
		error = run_files_read(files, "against", options->against, 0);
	if (!error && options->metadata)
		error = run_files_read(files, "metadata", options->metadata, 0);
	return error;
}

errcode_t update_name_files(const struct update_options *options, struct run_files *files, struct problem *problem)
{
	errcode_t error = name_outputs(options, files);

	if (!error)
		error = name_inputs(options, files);
	if (!error)
		error = run_host_add(files);
	if (!error)
		error = run_files_use_program(files, "resize2fs", NULL, NULL);
	if (!error)
		error = run_files_use_program(files, "e2fsck", NULL, NULL);
	return error ? problem_set(problem, error, NULL, "cannot list inputs") : 0;
}

errcode_t update_look(const struct update_options *options, struct run_files *files, struct problem *problem)
{
	const struct scan_options scan = {
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.platform = options->platform,
		.files = files,
	};
	const struct source_reading reading = {
		.sources = options->sources,
		.source_count = options->source_count,
		.layering = options->layering,
		.outputs[SCAN_IMAGE] = options->image,
		.scan = &scan,
	};
	struct pool *pool;
	errcode_t error = pool_create(options->threads, &pool);

	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	error = update_name_files(options, files, problem);
	if (!error)
		error = sources_look(&reading, pool, problem);
	pool_destroy(pool);
	return error;
}
