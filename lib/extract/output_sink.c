/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/output_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/io/same_file.h"
#include "support/run/interrupt.h"

/*
 * An unprivileged pipe may hold at most so many bytes. With 64 KiB, writer and reader wake each other 16 times as
 * often.
 */
#define PIPE_BYTES (1 << 20)
#define STREAM_BYTES (64 << 10)

static errcode_t open_stdout(struct output_sink *sink, bool is_binary, struct problem *problem)
{
	sink->path = "standard output";
	sink->descriptor = STDOUT_FILENO;
	if (is_binary && isatty(STDOUT_FILENO))
		return problem_set_reason(problem, EINVAL, sink->path, "cannot write", "it is a terminal");
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

/* Opens an existing output that is not a regular file. */
static errcode_t open_direct(struct output_sink *sink, const struct stat *status, struct problem *problem)
{
	if (S_ISBLK(status->st_mode))
		return problem_set_reason(problem, EINVAL, sink->path, "cannot write", "it is a device");
	sink->descriptor = open(sink->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return sink->descriptor < 0 ? problem_set(problem, errno, sink->path, "cannot open") : 0;
}

errcode_t output_sink_open(struct output_sink *sink, const char *path, const char *source, bool is_binary,
                           struct problem *problem)
{
	struct stat status;

	*sink = (struct output_sink){ .path = path, .descriptor = -1, .output = { .path = path, .descriptor = -1 } };
	if (!strcmp(path, "-"))
		return open_stdout(sink, is_binary, problem);
	bool exists = stat(path, &status) == 0;

	if (exists && source && is_same_file(source, &status))
		return problem_set_reason(problem, EINVAL, path, "cannot write", "it is the image itself");
	if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return open_direct(sink, &status, problem);
	sink->is_file = true;
	errcode_t error = output_examine(&sink->output, problem);

	if (!error)
		error = output_open(&sink->output, problem);
	sink->descriptor = sink->output.descriptor;
	return error;
}

errcode_t output_sink_write(struct output_sink *sink, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count) {
		ssize_t written = write(sink->descriptor, at, count);

		if (written < 0 && errno == EINTR && !interrupt_pending())
			continue;
		if (written <= 0)
			return written ? errno : EIO;
		at += written;
		count -= (size_t)written;
	}
	return 0;
}

static ssize_t write_of_stream(void *cookie, const char *bytes, size_t count)
{
	struct output_sink *sink = cookie;

	if (!sink->error)
		sink->error = output_sink_write(sink, bytes, count);
	return sink->error ? 0 : (ssize_t)count;
}

FILE *output_sink_stream(struct output_sink *sink)
{
	FILE *stream = fopencookie(sink, "w", (cookie_io_functions_t){ .write = write_of_stream });

	if (stream)
		setvbuf(stream, NULL, _IOFBF, STREAM_BYTES);
	return stream;
}

errcode_t output_sink_finish(struct output_sink *sink, struct problem *problem)
{
	return sink->is_file ? output_finish(&sink->output, problem) : 0;
}

void output_sink_close(struct output_sink *sink)
{
	if (sink->is_file)
		output_close(&sink->output);
	else if (sink->descriptor >= 0 && sink->descriptor != STDOUT_FILENO)
		close(sink->descriptor);
	sink->descriptor = -1;
}
