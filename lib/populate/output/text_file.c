// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/output/text_file.h"

#include <errno.h>
#include <sys/stat.h>

#include "populate/output/output.h"

static errcode_t write_to(const char *place, text_writer write, void *context)
{
	FILE *stream = fopen(place, "we");

	if (!stream)
		return errno;
	errcode_t error = write(context, stream);

	if (fclose(stream) && !error)
		error = errno;
	return error;
}

/* A pipe or a terminal has no other file beside it that could take its place. */
static bool is_stream(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
}

errcode_t text_file_write(const char *path, text_writer write, void *context, const char *action,
                          struct problem *problem)
{
	struct output output = { .descriptor = -1 };
	bool is_direct = is_stream(path);
	const struct output_request request = { .path = path };
	errcode_t error = is_direct ? 0 : output_examine(&request, &output, problem);

	if (!error && !is_direct)
		error = output_open(&output, problem);
	if (!error)
		error = write_to(is_direct ? path : output.work_path, write, context);
	if (!error && !is_direct)
		error = output_finish(&output, problem);
	output_close(&output);
	return error ? problem_set(problem, error, path, action) : 0;
}
