/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/name_files.h"

#include <errno.h>
#include <string.h>

#include "populate/format/mke2fs.h"
#include "source/kind/run_host.h"
#include "source/labels/file_contexts.h"
#include "unpack/sparse_file.h"
#include "unpack/spool_directory.h"

struct named {
	const char *role, *path; /* NULL: there is none */
};

static errcode_t name_outputs(const struct populate_options *options, struct run_files *files)
{
	SCOPE_FREE char *spool = spool_directory(options->image);
	bool is_made = !options->size_only;
	const struct named outputs[] = {
		{ "image", is_made ? options->image : NULL },
		{ "hash-tree", is_made && !options->dm_verity.is_appended ? options->dm_verity.target : NULL },
		{ "root-hash", is_made ? options->dm_verity.root_hash_path : NULL },
		{ "oci-config", options->oci_config },
		{ "undo", is_made ? mke2fs_argument(options, "-z") : NULL },
	};
	errcode_t error = spool ? run_files_use_folder(files, "temporary", spool, false) : ENOMEM;

	if (!error)
		error = run_files_use_folder(files, "temporary", sparse_file_folder(), false);

	for (size_t i = 0; !error && i < sizeof(outputs) / sizeof(*outputs); i++)
		if (outputs[i].path)
			error = run_files_write(files, outputs[i].role, outputs[i].path);
	if (!error && options->layer_cache.path)
		error = run_files_use_folder(files, "layer-cache", options->layer_cache.path, true);
	return error;
}

/* The words by which mke2fs would read or examine another file. */
static const char *journal_device(const struct populate_options *options)
{
	const char *journal = mke2fs_argument(options, "-J"), *device = journal ? strstr(journal, "device=") : NULL;

	return device ? device + strlen("device=") : NULL;
}

static errcode_t name_inputs(const struct populate_options *options, struct run_files *files)
{
	SCOPE_FREE char *journal = journal_device(options) ? strdup(journal_device(options)) : NULL;
	const struct named inputs[] = {
		{ "metadata", options->metadata },
		{ "stable-from", options->stable_from },
		{ "against", options->against },
		{ "bad-blocks", mke2fs_argument(options, "-l") },
		{ "journal-device", journal },
		/* What it holds around the filesystem stays, and its size may be the filesystem's. */
		{ "image", options->in_place || options->offset_bytes ? options->image : NULL },
	};
	errcode_t error = 0;

	if (journal)
		journal[strcspn(journal, ",")] = '\0';
	for (size_t i = 0; !error && i < sizeof(inputs) / sizeof(*inputs); i++)
		if (inputs[i].path)
			error = run_files_read(files, inputs[i].role, inputs[i].path, 0);
	if (!error && options->labels.file_contexts)
		error = file_contexts_name_files(options->labels.file_contexts, files);
	return error;
}

errcode_t name_files(const struct populate_options *options, struct pool *pool, struct run_files *files,
                     struct problem *problem)
{
	errcode_t error = name_outputs(options, files);

	if (!error)
		error = name_inputs(options, files);
	if (!error)
		error = run_host_add(files);
	if (!error)
		error = run_host_add_mke2fs(files);
	if (!error && options->verify)
		error = run_files_use_program(files, "e2fsck", NULL, NULL);
	if (error)
		return problem_set(problem, error, NULL, "cannot list inputs");
	return options->verity.signatures && !files->names_outputs_only ?
	               sources_look_at_folder("signatures", options->verity.signatures, files, pool, problem) :
	               0;
}
