// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/manifest/manifest_file.h"

#include <errno.h>

#include "source/archive/archive_input.h"

errcode_t manifest_file_read(int descriptor, const char *name, mtree_visit visit, void *context,
                             struct problem *problem)
{
	struct archive_input input;
	errcode_t error = archive_input_open(&input, descriptor, &archive_kind_manifest);

	if (!error) {
		SCOPE_FCLOSE FILE *stream = archive_input_stream(&input);

		error = stream ? mtree_read(stream, name, visit, context, problem) : ENOMEM;
	}
	if (error)
		archive_input_problem(&input, error, name, problem);
	archive_input_close(&input);
	return error;
}
