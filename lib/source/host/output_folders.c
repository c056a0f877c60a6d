/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/output_folders.h"

#include <errno.h>
#include <string.h>

#include "source/kind/run_files.h"
#include "support/cleanup.h"
#include "support/vector.h"

/* The folder that such an output changes. The caller frees it; NULL: no memory. */
static char *folder_of(const struct run_file *output)
{
	if (output->kind == RUN_FILE_FOLDER && !output->is_own)
		return strdup(output->path);
	SCOPE_FREE char *place = run_file_place(output);
	const char *slash = place ? strrchr(place, '/') : NULL;

	if (!place)
		return NULL;
	return slash ? strndup(place, (size_t)(slash + 1 - place)) : strdup(".");
}

errcode_t output_folders_find(const struct scan_options *options, struct output_folders *folders)
{
	const struct run_files *files = options->files;
	errcode_t error = 0;

	for (size_t i = 0; !error && files && i < files->output_count; i++) {
		SCOPE_FREE char *folder = folder_of(&files->outputs[i]);
		struct stat status;

		if (!folder)
			return ENOMEM;
		if (stat(folder, &status))
			continue;
		const struct output_folder found = { status.st_ino, status.st_dev };

		error = vector_add(&folders->list, &folders->count, &folders->capacity, &found, sizeof(found));
	}
	return error;
}

bool output_folders_have(const struct output_folders *folders, uint64_t inode, uint64_t device)
{
	for (size_t i = 0; i < folders->count; i++)
		if (folders->list[i].inode == inode && folders->list[i].device == device)
			return true;
	return false;
}

bool output_is_left_out(const struct scan_options *options, bool is_in_output_folder, const char *name,
                        const struct stat *status)
{
	enum scan_output output = scan_output_of(options, status);

	if (output == SCAN_OUTPUTS)
		return options->files && (run_files_leave_out(options->files, status) ||
		                          (is_in_output_folder && run_files_is_temporary(options->files, name)));
	if (options->skipped)
		__atomic_store_n(&options->skipped[output], true, __ATOMIC_RELAXED);
	return true;
}
