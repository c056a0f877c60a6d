/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/name_files.h"

#include "source/kind/run_host.h"
#include "unpack/sparse_file.h"

errcode_t extract_name_files(const struct extract_options *options, struct run_files *files, struct problem *problem)
{
	errcode_t error = options->form == EXTRACT_DIRECTORY ?
	                          run_files_use_folder(files, "output", options->output, true) :
	                          run_files_write(files, "output", options->output);

	if (!error)
		error = run_files_use_folder(files, "temporary", sparse_file_folder(), false);
	if (!error)
		error = run_host_add(files);
	/* Only the list has local times. */
	if (!error && options->form == EXTRACT_LIST)
		error = run_host_add_time_zone(files);
	return error ? problem_set(problem, error, NULL, "cannot list inputs") : 0;
}
